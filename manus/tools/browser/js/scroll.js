// Scrolls by a number of pixels: the area around an element, otherwise the page, otherwise the largest
// area in view. Takes (element or null, {amount, direction}); returns how far it moved, and what is left.
(element, { amount, direction }) => {
  const page = document.scrollingElement || document.documentElement;
  const scrolls = (el) => el.scrollHeight - el.clientHeight > 4 && (el === page || /(auto|scroll|overlay)/.test(getComputedStyle(el).overflowY));
  let target = null;
  for (let el = element; el && !target; el = el.assignedSlot || el.parentElement || (el.getRootNode().host ?? null)) if (scrolls(el)) target = el;
  if (!target && !element && scrolls(page) && getComputedStyle(page).overflowY !== "hidden") target = page;
  if (!target) {
    let size = 0;
    for (const el of document.querySelectorAll("*")) {
      if (el.scrollHeight - el.clientHeight < 12 || el.clientHeight < 40) continue;
      const rect = el.getBoundingClientRect();
      if (rect.width * rect.height > size && rect.bottom > 0 && rect.top < innerHeight && scrolls(el)) { target = el; size = rect.width * rect.height; }
    }
  }
  target = target || page;
  const before = target.scrollTop;
  const view = target === page ? innerHeight : target.clientHeight;
  target.scrollBy({ top: direction * (amount || Math.round(view * 0.85)), behavior: "instant" });
  const below = Math.max(0, Math.round(target.scrollHeight - view - target.scrollTop));
  return { moved: Math.round(target.scrollTop - before), above: Math.round(target.scrollTop), below, inner: target !== page };
}
