// Where to click an element: its middle, or another point of it if the middle is covered. Scrolls to
// an element out of view. Returns {x, y} in the view of its document, `frame`, and {position}, the same point
// relative to its padding box, as Playwright expects it, or null for the middle. Null if it has no box.
(element) => {
  const visibleRects = () => Array.from(element.getClientRects()).filter((rect) => rect.width >= 1 && rect.height >= 1);
  const isInView = (rect) => rect.top >= 0 && rect.left >= 0 && rect.top < innerHeight && rect.left < innerWidth;
  let rects = visibleRects();
  if (!rects.length) return null;
  if (!isInView(rects[0])) {
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    rects = visibleRects();
  }
  const root = element.getRootNode();
  const isFree = ([x, y]) => {
    const hit = root.elementFromPoint(x, y);
    // a click on a link in a label does not reach the labelled field
    const isOther = element.tagName === "LABEL" && hit?.closest("a, button, [onclick]") && element.contains(hit.closest("a, button, [onclick]"));
    return !!hit && !isOther && (element.contains(hit) || Array.from(element.labels || []).some((label) => label.contains(hit)));
  };
  const middle = [rects[0].left + rects[0].width / 2, rects[0].top + rects[0].height / 2];
  const result = { x: middle[0], y: middle[1], position: null, frame: window === top ? "page" : "frame" };
  if (isFree(middle)) return result;
  const whole = element.getBoundingClientRect();
  const shares = [[0.15, 0.2], [0.85, 0.2], [0.15, 0.8], [0.85, 0.8], [0.5, 0.1], [0.5, 0.9], [0.05, 0.5], [0.95, 0.5]];
  const points = rects.slice(0, 3).flatMap((rect) => shares.map(([x, y]) => [rect.left + rect.width * x, rect.top + rect.height * y]));
  const free = points.find(isFree);
  if (!free) return result;
  return { ...result, x: free[0], y: free[1], position: { x: free[0] - whole.left - element.clientLeft, y: free[1] - whole.top - element.clientTop } };
}
