// Makes photos of frames, and small pictures of photos, in a thread of its own.

const [LONGEST, SMALL] = [1920, 320];

/** @param part is the left, top, width and height of what is drawn. */
function drawn(picture, part, longest) {
  const [, , width, height] = part;
  const scale = Math.min(1, longest / Math.max(width, height));
  const canvas = new OffscreenCanvas(Math.ceil(width * scale), Math.ceil(height * scale));
  canvas.getContext("2d", { alpha: false })
    .drawImage(picture, ...part, 0, 0, canvas.width, canvas.height);
  return canvas;
}

const jpeg = (canvas, quality) => canvas.convertToBlob({ type: "image/jpeg", quality });

async function shrunk({ frame, part, file }) {
  const picture = frame ?? await createImageBitmap(file);
  let [large, small] = [null, null];
  try {
    const shown = part ?? [0, 0, picture.width, picture.height];
    if (frame) large = drawn(frame, shown, LONGEST);
    small = drawn(picture, shown, SMALL);
  } finally {
    // Before what takes long: the camera waits for its frames.
    picture.close();
  }
  return { photo: large ? await jpeg(large, 0.85) : file, small: await jpeg(small, 0.8) };
}

addEventListener("message", async ({ data: { id, ...asked } }) => {
  try {
    postMessage({ id, ...await shrunk(asked) });
  } catch (error) {
    // What is no picture is told by the program, which says why.
    postMessage(asked.file ? { id, photo: asked.file } : { id, reason: String(error) });
  }
});
