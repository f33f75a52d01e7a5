// Makes photos of frames, and small pictures of photos, in a thread of its own.

const [LONGEST, SMALL] = [1920, 320];

async function draw(picture, longest, quality) {
  const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
  const canvas = new OffscreenCanvas(
    Math.ceil(picture.width * scale), Math.ceil(picture.height * scale));
  canvas.getContext("2d", { alpha: false })
    .drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/jpeg", quality });
}

addEventListener("message", async ({ data: { id, frame, file } }) => {
  try {
    const picture = frame ?? await createImageBitmap(file);
    const photo = frame ? await draw(frame, LONGEST, 0.85) : file;
    const small = await draw(picture, SMALL, 0.8);
    picture.close();
    postMessage({ id, photo, small });
  } catch (error) {
    // What is no picture is told by the program, which says why.
    postMessage(file ? { id, photo: file } : { id, reason: String(error) });
  }
});
