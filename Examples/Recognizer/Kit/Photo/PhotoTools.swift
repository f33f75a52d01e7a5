import ExampleService

extension Tool {
  static let tesseract = Tool(name: "tesseract", package: "tesseract-ocr")
  static let zbarimg = Tool(name: "zbarimg", package: "zbar-tools")
  package static let graphicsMagick = Tool(name: "gm", package: "graphicsmagick")
}
