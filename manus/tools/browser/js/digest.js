// A digest of what is visible of a document, stable while that does not change. It ignores positions,
// since an animation alone is not an effect, and clocks that show seconds. With `isExact` it changes with all of
// them, but not with the focus of a button, which each click moves.
(isExact) => {
  let hash = 5381;
  const add = (text) => { for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 33) + text.charCodeAt(i)) | 0; };
  const roots = [document];
  let left = 5000;
  for (const root of roots) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let el = walker.nextNode(); el && left; el = walker.nextNode()) {
      if (shadowOf(el)) roots.push(shadowOf(el));
      if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD)$/i.test(el.tagName)) continue;
      if (el.scrollTop || el.scrollLeft) add(`${Math.round(el.scrollTop)},${Math.round(el.scrollLeft)}`);
      const rect = el.getBoundingClientRect();
      if (!rect.width || !rect.height || rect.bottom <= 0 || rect.right <= 0 || rect.top >= innerHeight || rect.left >= innerWidth) continue;
      left--;
      let own = "";
      for (let node = el.firstChild; node; node = node.nextSibling) if (node.nodeType === Node.TEXT_NODE) own += node.data;
      const state = isExact ? Array.from(el.attributes, (one) => one.name + one.value).concat([rect.left, rect.top, rect.width, rect.height]) : ["class", "src", "href", "disabled", "aria-selected", "aria-checked", "aria-expanded", "aria-pressed", "aria-current", "aria-activedescendant", "aria-valuenow"].map((name) => el.getAttribute(name) ?? "");
      const held = "value" in el ? `${el.value}${el.checked ?? ""}` : "";
      add(`${el.tagName}|${(isExact ? own : own.replace(/\d{1,2}:\d\d:\d\d/g, "")).replace(/\s+/g, " ")}|${state.join("|")}|${held}`);
      if (root.activeElement === el && !(isExact && /^(A|BUTTON|BODY)$/.test(el.tagName))) add("focus");
      if (isExact && el.tagName === "CANVAS") add(String(performance.now())); // it may show what cannot be read
      else if (el.tagName === "CANVAS") try { add(el.toDataURL()); } catch { /* tainted by images of another origin */ }
    }
  }
  return hash;
}
