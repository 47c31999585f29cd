// The document as HTML that a person could read: without hidden content, with open shadow roots and
// the values of fields. Returns {html, hidden}, the number of characters omitted. Needs naming.js.
() => {
  const SKIPPED = /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|LINK|META)$/;
  const MAX_OPTIONS = 30;
  const inert = document.implementation.createHTMLDocument("");
  let hidden = 0, isInGrid = false;

  // Clipped, or moved out of the page: text for screen readers, or for programs only.
  const isOutside = (el, style) => {
    if (!/^(absolute|fixed)$/.test(style.position)) return false;
    const rect = el.getBoundingClientRect();
    if (rect.right + scrollX <= 0 || rect.bottom + scrollY <= 0) return rect.width > 0;
    const isCut = rect.width <= 1 && rect.height <= 1 && style.overflow !== "visible";
    return isCut || /^(inset\((50|100)%|polygon\(0px 0px, ?0px 0px)/.test(style.clipPath);
  };
  // A transparent element below the view may fade in when it is scrolled to.
  const isTransparent = (el, style) => style.opacity === "0" && el.getBoundingClientRect().top < innerHeight;
  const isHidden = (el) => {
    if (/^(OPTION|OPTGROUP)$/.test(el.tagName)) return false;
    if (!hasBox(el)) return true;
    const style = getComputedStyle(el);
    return isOutside(el, style) || isTransparent(el, style);
  };
  // An invisible element may contain visible ones, so each of its texts is checked.
  const isReadable = (el) => {
    const style = getComputedStyle(el);
    return style.visibility === "visible" && style.fontSize !== "0px";
  };

  const copyText = (node) => {
    const el = node.parentElement;
    const isCollapsed = el && el.tagName === "DETAILS" && !el.open;
    if (!el || (!isCollapsed && isReadable(el))) return inert.createTextNode(node.data);
    hidden += squash(node.data).length;
    return null;
  };
  const copy = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return copyText(node);
    if (node.nodeType !== Node.ELEMENT_NODE || SKIPPED.test(node.tagName)) return null;
    if (isHidden(node)) {
      hidden += squash(node.textContent).length;
      return null;
    }
    const role = node.getAttribute("role");
    if (role === "row" && isInGrid) return null;
    if (/^(grid|treegrid|table)$/.test(role) && node.tagName !== "TABLE" && !isInGrid) return copyGrid(node);
    const result = inert.importNode(node, false);
    if (node.tagName === "A" && node.href) result.setAttribute("href", node.href);
    if (node.tagName === "TEXTAREA") { result.textContent = node.value; return result; }
    const isLong = node.tagName === "SELECT" && node.options.length > MAX_OPTIONS;
    for (const child of isLong ? node.selectedOptions : childrenOf(node)) {
      const part = copy(child);
      if (part) result.append(part);
    }
    return result;
  };

  // A grid made of other elements as a table; rows may be drawn in parts, such as pinned columns.
  const copyGrid = (grid) => {
    const table = inert.createElement("table"), rows = new Map();
    for (const row of grid.querySelectorAll("[role=row]")) {
      const key = row.getAttribute("aria-rowindex") || row;
      if (!rows.has(key)) rows.set(key, table.appendChild(inert.createElement("tr")));
      for (const cell of row.querySelectorAll("[role=gridcell], [role=cell], [role=columnheader], [role=rowheader]")) {
        const part = copy(cell), result = inert.createElement("td");
        if (part) rows.get(key).appendChild(result).append(part);
      }
    }
    const result = inert.createElement("div");
    result.append(table);
    isInGrid = true;
    for (const child of childrenOf(grid)) result.append(copy(child) || "");
    isInGrid = false;
    return result;
  };

  const title = inert.createElement("title");
  title.textContent = document.title;
  const root = inert.createElement("html"), head = inert.createElement("head");
  head.append(title);
  root.append(head, (document.body && copy(document.body)) || inert.createElement("body"));
  return { html: root.outerHTML, hidden };
}
