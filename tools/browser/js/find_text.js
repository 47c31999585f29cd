// Scrolls to the first place of a text, in any letter case and spacing. Takes the text.
(wanted) => {
  const squash = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const needle = squash(wanted);
  const shown = (el) => (!el.checkVisibility || el.checkVisibility({ visibilityProperty: true })) && el.getClientRects().length > 0;
  const roots = [document];
  let best = null;
  for (let index = 0; index < roots.length && !best; index++) {
    const walker = document.createTreeWalker(roots[index], NodeFilter.SHOW_ELEMENT);
    for (let el = walker.nextNode(); el; el = walker.nextNode()) if (el.shadowRoot) roots.push(el.shadowRoot);
    const texts = document.createTreeWalker(roots[index], NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node && !best; node = texts.nextNode())
      if (node.parentElement && !/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(node.parentElement.tagName) && squash(node.data).includes(needle) && shown(node.parentElement)) best = node.parentElement;
  }
  if (!best) {
    // Spread over several elements: the innermost that holds all of it.
    let el = document.body && squash(document.body.textContent).includes(needle) ? document.body : null;
    while (el) {
      best = el;
      el = Array.from(el.children).find((child) => !/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(child.tagName) && squash(child.textContent).includes(needle) && shown(child));
    }
    if (best === document.body) best = null;
  }
  if (!best) return null;
  best.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  const text = best.textContent.replace(/\s+/g, " ").trim();
  return text.length > 160 ? text.slice(0, 159) + "…" : text;
}
