// A place within an element where a click would reach it: none lies over it there. As an offset
// from its top left corner; null if the middle is fine; false if it is covered everywhere.
(element) => {
  element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  const rect = Array.from(element.getClientRects()).find((one) => one.width > 1 && one.height > 1) || element.getBoundingClientRect();
  const whole = element.getBoundingClientRect();
  const parentOf = (node) => node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  const free = (fx, fy) => {
    let hit = document.elementFromPoint(rect.left + rect.width * fx, rect.top + rect.height * fy);
    while (hit && hit.shadowRoot) {
      const deeper = hit.shadowRoot.elementFromPoint(rect.left + rect.width * fx, rect.top + rect.height * fy);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    for (let node = hit; node; node = parentOf(node)) if (node === element) return true;
    return false;
  };
  if (free(0.5, 0.5)) return null;
  for (const [fx, fy] of [[0.15, 0.2], [0.85, 0.2], [0.15, 0.8], [0.85, 0.8], [0.5, 0.1], [0.5, 0.9], [0.05, 0.5], [0.95, 0.5]])
    if (free(fx, fy)) return { x: rect.left - whole.left + rect.width * fx, y: rect.top - whole.top + rect.height * fy };
  return false;
}
