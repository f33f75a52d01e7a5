// What fingers do beside taps and scrolling: one swipes a turn away, pulls the page down for a new
// conversation, or sweeps down over the field to put the keyboard away; two swap the languages. All
// of it has a button, too.

/** How far a finger goes before it means something, and how far for that to happen, in pixels. */
const [slop, enough] = [10, 96];

let [finger, settling] = [null, 0];

/** Whether something moves with a finger, or away from one. It is not drawn anew meanwhile. */
export const isHeld = () => settling > 0 || Boolean(finger?.kind);

/** `acts` are `swiped` with a question's id, which tells whether it is gone; `canPull`, `pulled`
 * and `swapped`; `pulling` with whether that is far enough, or null for no more, and how much of
 * its words is seen; and `released`. */
export function watch(acts) {
  document.addEventListener("touchstart", (event) => begin(event, acts), { passive: true });
  // Not passive: what means something here scrolls nothing.
  document.addEventListener("touchmove", (event) => move(event, acts), { passive: false });
  document.addEventListener("touchend", () => end(acts, true));
  document.addEventListener("touchcancel", () => end(acts, false));
}

function begin({ touches, target }, acts) {
  if (finger) end(acts, false);
  if (!(target instanceof Element) || target.closest("dialog, input, select")) return;
  const isOnPair = [...touches].every((touch) => touch.target.closest?.(".pair"));
  if (touches.length > (isOnPair ? 2 : 1)) return;
  finger = {
    kind: null, count: touches.length, starts: places(touches), far: 0,
    entry: target.closest(".entry"), isOnField: Boolean(target.closest("#bottom")),
    isAtTop: document.scrollingElement.scrollTop <= 0,
  };
}

const places = (touches) => [...touches].map(({ clientX, clientY }) => [clientX, clientY]);

function move(event, acts) {
  if (!finger || event.touches.length !== finger.count) return;
  const ways = places(event.touches).map(([x, y], index) =>
    [x - finger.starts[index][0], y - finger.starts[index][1]]);
  if (!finger.kind) {
    if (Math.hypot(...ways[0]) < slop) return;
    finger.kind = event.cancelable ? meaning(ways, acts) : null;
    // What means nothing here is the browser's: it scrolls.
    if (!finger.kind) finger = null;
  }
  if (!finger) return;
  event.preventDefault();
  const [[x, y]] = ways;
  const { kind, entry } = finger;
  finger.far = kind === "pull" ? Math.max(0, y) : kind === "hide" ? y : x;
  const isEnough = Math.abs(finger.far) >= enough;
  if (kind === "swipe") {
    entry.classList.add("held");
    entry.classList.toggle("enough", isEnough);
    entry.style.setProperty("--dragged", `${finger.far}px`);
  } else if (kind === "pull") {
    // All of it is seen at half the way.
    acts.pulling(isEnough, Math.min(1, (2 * finger.far) / enough));
  }
}

function meaning(ways, acts) {
  const [[x, y]] = ways;
  const isAcross = ways.every((way) => Math.abs(way[0]) > 1.5 * Math.abs(way[1]));
  if (ways.length === 2) return isAcross && x * ways[1][0] > 0 ? "swap" : null;
  if (isAcross) return finger.entry ? "swipe" : null;
  if (y <= Math.abs(x)) return null;
  const { activeElement: field } = document;
  if (finger.isOnField) return field?.id === "text" && !field.scrollTop ? "hide" : null;
  return finger.isAtTop && acts.canPull() ? "pull" : null;
}

async function end(acts, isLifted) {
  if (!finger) return;
  const { kind, entry, far } = finger;
  const isMeant = isLifted && Math.abs(far) >= enough;
  finger = null;
  if (kind === "pull") acts.pulling(null);
  if (kind === "pull" && isMeant) acts.pulled();
  if (kind === "swap" && isMeant) acts.swapped();
  // A sweep over the field that is shorter than that is meant, too: the field is not high.
  if (kind === "hide" && isLifted) document.activeElement?.blur();
  if (kind === "swipe") await letGo(entry, far, isMeant && acts.swiped);
  if (kind) acts.released();
}

/** Moves a turn on in the way that it went, or back where it was. */
async function letGo(entry, far, swiped) {
  settling += 1;
  entry.classList.add("settling");
  entry.style.setProperty("--dragged", swiped ? `${Math.sign(far) * 110}%` : "0px");
  // Where less motion is wanted, there is nothing to wait for.
  await Promise.allSettled([...entry.children].flatMap((child) => child.getAnimations())
    .map(({ finished }) => finished));
  const isGone = swiped && await swiped(entry.dataset.key);
  settling -= 1;
  if (isGone) return;
  entry.classList.remove("held", "enough", "settling");
  entry.style.removeProperty("--dragged");
}
