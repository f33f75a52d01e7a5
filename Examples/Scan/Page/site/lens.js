// The camera's stream. It takes longer than all else at a page's beginning, so this needs no other
// module.

async function permission(more) {
  try {
    return (await navigator.permissions.query({ name: "camera", ...more })).state;
  } catch {
    // A browser that can't say so is asked when the person wants it.
    return null;
  }
}

export const isAllowed = async () => await permission() === "granted";

/** Chromium tells of a zoom only those who asked for it, and refuses all to those who may not. */
async function mayZoom() {
  const state = await permission({ panTiltZoom: true });
  return state && state !== "denied" ? true : undefined;
}

/** Asks the browser, which may ask the person. */
export async function openLens(zooms = mayZoom()) {
  return navigator.mediaDevices.getUserMedia({
    video: {
      facingMode: "environment", width: { ideal: 1920 }, height: { ideal: 1080 },
      frameRate: { ideal: 30 }, zoom: await zooms,
    },
  });
}

export function release(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

async function begin() {
  // The browser takes a while for each answer.
  const zooms = mayZoom();
  return await isAllowed() ? openLens(zooms) : null;
}

let early = document.hidden || location.hash.startsWith("#/library") ? null : begin();
// Told to whoever takes it.
early?.catch(() => {});

/** The stream that the page began with, once; `null`, or one of `null`, where the person did not
 * agree before. */
export function earlyStream() {
  const taken = early;
  early = null;
  return taken;
}

// No camera stays on for a page whose other modules did not come.
addEventListener("load", () => earlyStream()?.then(release, () => {}));
