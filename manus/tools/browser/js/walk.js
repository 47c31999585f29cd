// A snapshot of a document: the interactive elements in and near the viewport, and the text around them.
// Takes {clip, origin, near, maxElements, maxTexts}; needs naming.js.
(options) => {
  const width = window.innerWidth, height = window.innerHeight;
  const clip = options.clip || { left: 0, top: 0, right: width, bottom: height };
  const origin = options.origin || { left: 0, top: 0 };
  const near = { top: clip.top - options.near, bottom: clip.bottom + options.near };
  const items = [];
  const counts = { above: 0, below: 0, elements: 0, texts: 0, left: 0 };
  const INLINE = /^(inline|contents|ruby|table-cell|none)/;
  const MAX_SHAPES = 30;
  const MAX_INDENT = 40;
  const CELL = /^(gridcell|cell|columnheader|rowheader)$/;
  const MAX_ROW = 1000;
  const MAX_CELL = 200; // A longer table cell may have lines of its own.
  // Roles that are more specific than "link" or "clickable" where two elements are merged.
  const STATEFUL = new Set(["tab", "option", "menuitem", "menuitemcheckbox", "menuitemradio", "treeitem", "radio", "checkbox", "switch"]);

  // What is drawn at a point; what is transparent receives clicks there, but hides nothing.
  const paintedAt = (x, y) => {
    const hit = hitAt(x, y);
    if (!hit || hit.checkVisibility({ opacityProperty: true })) return hit;
    return document.elementsFromPoint(x, y).find((el) => el.checkVisibility({ opacityProperty: true })) || hit;
  };
  // Whether the element is uncovered at one or more of a few sample points.
  const isUncovered = (el, rects, find = hitAt) => {
    const labels = el.labels ? Array.from(el.labels) : [];
    const passes = getComputedStyle(el).pointerEvents === "none";
    for (const rect of rects.slice(0, 3)) {
      const left = Math.max(rect.left, clip.left, 0), right = Math.min(rect.right, clip.right, width);
      const top = Math.max(rect.top, clip.top, 0), bottom = Math.min(rect.bottom, clip.bottom, height);
      if (right - left < 1 || bottom - top < 1) continue;
      for (const [fx, fy] of [[0.5, 0.5], [0.15, 0.2], [0.85, 0.2], [0.15, 0.8], [0.85, 0.8]]) {
        const hit = find(left + (right - left) * fx, top + (bottom - top) * fy);
        if (!hit) continue;
        if (shadowOf(hit) && el.getRootNode() === shadowOf(hit)) return true; // text in a slot
        if (holds(el, hit) || labels.some((label) => holds(label, hit))) return true;
        if (passes && holds(hit, el)) return true;
      }
    }
    return false;
  };

  // The position of an element, or of one in a frame, in pixels of the page's viewport.
  const geometryOf = (el, rect) => {
    const at = (x, y) => `${Math.round(x + origin.left)},${Math.round(y + origin.top)}`;
    if (el.localName === "line" && el.getScreenCTM) {
      const matrix = el.getScreenCTM();
      const [from, to] = [[el.x1, el.y1], [el.x2, el.y2]].map(([x, y]) => new DOMPoint(x.baseVal.value, y.baseVal.value).matrixTransform(matrix));
      return `from ${at(from.x, from.y)} to ${at(to.x, to.y)}`;
    }
    return `at ${at(rect.left, rect.top)} size ${Math.round(rect.width)}×${Math.round(rect.height)}`;
  };

  const isClickable = (el, style) => {
    if (el === document.body || el === document.documentElement) return false;
    const editing = el.getAttribute("contenteditable");
    if (editing !== null && editing !== "false") return true;
    if (el.tagName === "LABEL") return false;
    const listens = !isRoot(el) && store.listening.has(el) || isDelegating(el) || typeof el.onclick === "function" || typeof el.onmousedown === "function";
    const outer = el.parentElement && getComputedStyle(el.parentElement).cursor;
    const pointed = isDeclaredDraggable(el) || outer !== style.cursor && (style.cursor === "pointer" || GRABBED.test(style.cursor));
    // A scrollable area is focusable only for the keyboard; it is listed as a scroll area.
    const focusable = el.hasAttribute("tabindex") && el.tabIndex >= 0 && !/(auto|scroll)/.test(style.overflowY);
    const accepts = isDropTarget(el);
    if (!(listens || pointed || focusable || accepts || isItem(el))) return false;
    if (!(listens || focusable || accepts) && isWrapper(el)) return false;
    // It listens for events of its children.
    if (listens && !(pointed || accepts) && hasEqualItems(el)) return false;
    if (!(focusable || pointed || accepts) && el.querySelectorAll(INTERACTIVE).length > 1) return false;
    const rect = el.getBoundingClientRect();
    const large = rect.width * rect.height > 0.5 * width * height;
    return !(large && el.childElementCount > 1);
  };

  const describeElement = (el, rect, place) => {
    const role = roleOf(el), name = nameOf(el, role), hint = name ? "" : hintOf(el);
    const icon = name && /^menuitem/.test(role) ? Array.from(el.querySelectorAll("[class*=icon]")).map(drawnIconOf).find(Boolean) : "";
    const hasPlace = el.tagName === "CANVAS" || el.namespaceURI === SVG || (role === "slider" && el.tagName !== "INPUT") || (!name && role === "clickable") || isDraggable(el);
    return {
      kind: "element", el, place, role, name, hint, icon, value: valueOf(el, role), states: statesOf(el, role), extra: extrasOf(el, name), inner: [],
      text: isLabelled(el) && !isField(el) && !isLabelledBox(el, name) ? textOf(el, MAX_NAME) : "",
      geometry: hasPlace ? geometryOf(el, rect) : "", color: SHAPES.has(el.localName) || el.localName === "text" || (!name && role === "clickable") ? colorOf(el) : "",
      area: rect.width * rect.height,
    };
  };

  // Whether two nested elements are one to a person, such as a day and its link.
  const areOne = (outer, inner) => {
    if (outer.place !== inner.place || inner.inner.length || outer.el.namespaceURI === SVG) return false;
    if ((outer.name || inner.name) && !isEditor(inner.el)) return outer.name === inner.name || squash(outer.el.textContent) === squash(inner.el.textContent) && !inner.hint && !outer.el.hasAttribute("aria-label");
    return inner.area > outer.area / 2;
  };

  const merge = (outer, inner) => {
    const role = STATEFUL.has(outer.role) || inner.role === "clickable" && outer.role !== "gridcell" ? outer.role : inner.role;
    const states = [...new Set([...isEditor(inner.el) ? [] : outer.states, ...inner.states])];
    Object.assign(outer, inner, { role: isEditor(inner.el) ? inner.role : role, states, extra: inner.extra || outer.extra, name: inner.name || (isEditor(inner.el) ? "" : outer.name), value: inner.value ?? outer.value });
    inner.isMerged = true;
  };

  // The text of an element in the snapshot, after its number, and its label in messages.
  const render = (item) => {
    const { el, role, name, value, place } = item;
    const label = called(role, name), parts = [label];
    if (item.color) parts.push(item.color);
    if (item.icon) parts.push(`(icon: ${item.icon})`);
    if (item.hint) parts.push(`(looks like: ${item.hint})`);
    if (hasMore(item.text, name)) parts.push(`shows ${quoted(item.text)}`);
    if (item.line && (CELL.test(role) || role === "clickable") && name) parts[0] = quoted(name); // the row shows what it is
    const head = squash(parts.join(" ")); // line breaks in attributes must not start a line
    parts.length = 0;
    if (item.states.length) parts.push(`(${item.states.join(", ")})`);
    if (item.extra) parts.push(`[${cut(item.extra, 260)}]`);
    if (item.geometry) parts.push(item.geometry);
    if (place !== "view") parts.push(`(${place.replace("near ", "")} the view)`);
    const tail = squash(parts.join(" "));
    // the value with its own quotes and its indents, which an edit repeats
    const shown = value !== null && value !== name ? `= "${String(value).replace(/[\r\n]+/g, " ")}"` : "";
    const text = [head, shown, tail].filter(Boolean).join(" ");
    return { kind: "element", id: idOf(el), place, label, text, line: item.line, key: keyOf(el), row: rowOf(el), scrolledIn: store.scrolledOut.has(el) };
  };

  let line = 0, lineCount = 0;
  let enclosing = null, preformatted = false, bounds = null, isInRow = false, isInCell = false;
  const addElement = (el, rect, place) => {
    counts.elements++;
    const item = { ...describeElement(el, rect, place), line };
    if (enclosing) enclosing.inner.push(item);
    items.push(item);
    return item;
  };

  // Whether a clickable element only wraps its parts: they contain all its text, or many of them most.
  const isFrameOf = (outer, parts) => {
    if (outer.role !== "clickable" || outer.states.length || parts.length < 2) return false;
    const letters = lettersOf(outer.el);
    const share = letters ? parts.reduce((sum, part) => sum + lettersOf(part.el), 0) / letters : 1;
    return share === 1 || parts.length > 4 && share > 0.6;
  };

  const finish = () => {
    for (const item of items) if (item.inner && isFrameOf(item, item.inner)) item.isMerged = true;
    for (const item of items.slice().reverse()) if (item.inner?.length === 1 && areOne(item, item.inner[0])) merge(item, item.inner[0]);
    return items.filter((item) => !item.isMerged).map((item) => (item.el ? render(item) : item));
  };

  const placeOf = (rect) => {
    if (rect.right <= clip.left || rect.left >= clip.right) return "beside";
    if (rect.bottom <= clip.top) return rect.bottom > near.top ? "near above" : "above";
    if (rect.top >= clip.bottom) return rect.top < near.bottom ? "near below" : "below";
    return "view";
  };

  let buffer = "", bufferPlace = "view", heading = 0;
  const flush = () => {
    const indent = preformatted ? /^(?:\s*\n)?([ \t]*)/.exec(buffer)[1].replaceAll("\t", "    ").slice(0, MAX_INDENT) : "";
    const text = squash(buffer).replace(/^(\| )+|( \|)+$/g, "");
    buffer = "";
    if (!text || text === "|" || counts.texts >= options.maxTexts) return;
    counts.texts++;
    items.push({ kind: "text", place: bufferPlace, line, text: `${heading ? "#".repeat(heading) : "|"} ${indent}${cut(text, 400)}`, heading });
  };

  // A transparent control over a box that the page draws for it. A text field may be a trap for robots.
  const isDrawnByPage = (el) => el.matches("select, input:is([type=checkbox], [type=radio], [type=file], [type=range], [type=date], [type=time], [type=datetime-local], [type=month], [type=color], [role=combobox])");

  const consider = (el, rect, style, place) => {
    const replaced = drawnFor(el);
    if (!replaced && style.visibility !== "visible") return false;
    const canvas = SHAPES.has(el.localName) && el.ownerSVGElement;
    if (!canvas && (rect.width < 1 || rect.height < 1)) return false;
    if (counts.elements >= options.maxElements) { // skip the expensive checks
      if (place === "view") counts.left++;
      return { inner: [] };
    }
    if (place === "view") {
      const shown = replaced || canvas || el;
      const rects = Array.from(shown.getClientRects()).filter((one) => one.width >= 1 && one.height >= 1);
      if (!isUncovered(shown, rects.length ? rects : [rect])) return false;
      if (!replaced && el.checkVisibility && !el.checkVisibility({ opacityProperty: true }) && !isDrawnByPage(el)) return false;
    }
    flush();
    return addElement(el, rect, place);
  };

  const isListed = (field) => !!field && field.type !== "hidden" && (!!drawnFor(field) || field.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && field.getBoundingClientRect().width > 1);

  // A drawing is listed with its shapes if there are few of them: not an icon or a large chart.
  const drawings = new Map();
  const isDrawing = (svg) => {
    if (!drawings.has(svg)) {
      const rect = svg.getBoundingClientRect();
      const count = rect.width < 80 || rect.height < 80 ? 0 : svg.querySelectorAll([...SHAPES].join(",")).length;
      drawings.set(svg, count > 0 && count <= MAX_SHAPES || count === 0 && store.listening.has(svg));
    }
    return drawings.get(svg);
  };
  // A row of a table, rather than of a layout made of tables.
  const isSingleRow = (el) => (el.tagName === "TR" || el.getAttribute("role") === "row") && el.textContent.length < MAX_ROW && !el.querySelector("table, tr, [role=row], [role=grid]");
  const isInDrawing = (el) => el.namespaceURI === SVG && (el.localName === "svg" ? isDrawing(el) : SHAPES.has(el.localName) && el.ownerSVGElement && isDrawing(el.ownerSVGElement));

  const scrollArea = (el, style, rect, place) => {
    if (place !== "view" || el === document.scrollingElement || el === document.body) return;
    const more = el.scrollHeight - el.clientHeight;
    if (more < 12 || el.clientHeight < 40 || !/(auto|scroll|overlay)/.test(style.overflowY) || el.tagName === "TEXTAREA" || el.tagName === "SELECT") return;
    flush();
    const label = called("scroll area", cut(squash(el.getAttribute("aria-label")), 60));
    items.push({ kind: "element", id: idOf(el), place, label, key: keyOf(el), row: "", scrolledIn: store.scrolledOut.has(el), text: `${label} (${Math.round(el.scrollTop)} px above, ${Math.round(more - el.scrollTop)} px below)` });
  };

  const walk = (node, inside, depth) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (inside || buffer.length > 1000) return;
      const [first, ...rest] = preformatted ? node.data.split("\n") : [node.data];
      buffer += first;
      for (const line of rest) { flush(); buffer += line; }
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName) || depth > 1500) return;
    const el = node;
    if (el.tagName === "BR") { buffer += " "; return; }
    const drawn = drawnFor(el);
    const rect = (drawn || el).getBoundingClientRect();
    // An element without height, or without a box, may still contain visible ones.
    const empty = rect.width === 0 || rect.height === 0;
    const place = empty ? "view" : placeOf(rect);
    const native = isNative(el);
    if (place === "above" || place === "below" || place === "beside") {
      if (native && !empty) counts[place] = (counts[place] || 0) + 1;
      if (place !== "beside" && rect.bottom + window.scrollY > 0) store.scrolledOut.add(el);
      // This is cheap, since nothing in it is visible: its children are only counted, unless they are
      // positioned elsewhere.
      for (let child = el.firstElementChild; child; child = child.nextElementSibling) walk(child, true, depth + 1);
      if (shadowOf(el)) for (const child of shadowOf(el).children) walk(child, true, depth + 1);
      return;
    }
    const style = getComputedStyle(el);
    if (style.display === "none" && !drawn || el.inert) return;
    if (empty && !native && !childrenOf(el).length) return;
    if (el.tagName === "IFRAME" || el.tagName === "FRAME") {
      if (place === "view" && rect.width > 4 && rect.height > 4 && style.visibility === "visible" && isUncovered(el, [rect])) {
        flush();
        const left = rect.left + el.clientLeft + parseFloat(style.paddingLeft || 0), top = rect.top + el.clientTop + parseFloat(style.paddingTop || 0);
        items.push({ kind: "frame", id: idOf(el), place, text: called("frame", cut(squash(el.title || el.name || el.id), 60)), origin: { left: origin.left + left, top: origin.top + top }, clip: { left: Math.max(0, clip.left - left), top: Math.max(0, clip.top - top), right: Math.min(rect.right, clip.right) - left, bottom: Math.min(rect.bottom, clip.bottom) - top } });
      }
      return;
    }
    const outerBounds = bounds;
    if (bounds && escapes(el, style)) bounds = null;
    const isCut = !!bounds && !empty && isOutsideOf(bounds, rect);
    if (isCut) inside = true;
    bounds = boundsOf(el, style, rect);
    const isEntry = el.tagName === "LI" || el.getAttribute("role") === "listitem";
    const isCell = el.tagName === "TD" || el.tagName === "TH" || line && CELL.test(el.getAttribute("role")) || isInRow && !el.firstElementChild && !isEntry && !/^H[1-6]$/.test(el.tagName);
    const inline = (INLINE.test(style.display) || isCell || isInCell) && !isEntry;
    const outerRow = isInRow, outerCell = isInCell;
    isInCell = isInCell || isCell && el.textContent.length < MAX_CELL && !el.querySelector("table, li, p + p, h1, h2, h3");
    isInRow = /^(inline-)?(flex|grid)$/.test(style.display) && !style.flexDirection.startsWith("column");
    if (!inline && !inside) flush();
    const outerLine = line;
    if (isSingleRow(el)) line = ++lineCount;
    const rows = Number(el.getAttribute("aria-rowcount"));
    if (rows > 0 && !inside && place === "view") { flush(); buffer = `(${roleOf(el)} of ${rows} rows, with the header)`; flush(); }
    scrollArea(el, style, rect, place);
    const isShape = !inside && isInDrawing(el);
    const isArea = items.length > 0 && items.at(-1).id !== undefined && items.at(-1).id === store.ids.get(el);
    const actable = native || isShape || (!empty && !isArea && isClickable(el, style));
    const acted = actable && !isCut && consider(el, rect, style, place);
    if (/^(SELECT|TEXTAREA|CANVAS)$/.test(el.tagName) || isEditor(el)) { bounds = outerBounds; isInRow = outerRow; isInCell = outerCell; return; }
    const named = el.tagName === "LABEL" && isListed(el.control); // its text is the name of the field
    // The name of a large clickable element, such as a card, is only its beginning; the rest is text.
    const outerPreformatted = preformatted;
    preformatted = /^(pre|break-spaces)/.test(style.whiteSpace);
    const swallowed = actable && !(acted && acted.name !== undefined && isLabelledBox(el, acted.name)) && (native ? !isLongText(el) : el.textContent.length < 200 && !isShape && countLines(el) < MIN_LINES);
    const surrounding = enclosing;
    enclosing = acted || enclosing;
    const hidden = inside || swallowed || named || style.visibility !== "visible" && !el.firstElementChild;
    const outer = heading;
    const level = /^H[1-6]$/.test(el.tagName) ? Number(el.tagName[1]) : el.getAttribute("role") === "heading" ? Number(el.getAttribute("aria-level") || 2) : 0;
    if (level) heading = level;
    if (!hidden && !empty) bufferPlace = place;
    if (!hidden && isCell) buffer += buffer.trim() ? " | " : "";
    if (!hidden && el.tagName === "IMG" && el.alt && (place !== "view" || isUncovered(el, [rect], paintedAt))) buffer += ` (image: ${el.alt}) `;
    const icon = !hidden && place === "view" && drawnIconOf(el);
    if (icon && isUncovered(el, [rect], paintedAt)) buffer += ` (image: ${icon}) `;
    const isDrawn = !hidden && place === "view" && counts.texts < options.maxTexts;
    const [before, after] = ["before", "after"].map((side) => isDrawn && styledText(el, side) || "");
    const isStyled = (before || after) && isUncovered(el, [rect], paintedAt);
    if (isStyled) buffer += before;
    if (!hidden && place === "view" && counts.texts < options.maxTexts && hasOwnText(el) && !isUncovered(el, inline ? Array.from(el.getClientRects()) : [rect], paintedAt)) {
      for (let child = el.firstElementChild; child; child = child.nextElementSibling) { buffer += " "; walk(child, inside, depth + 1); }
    } else {
      for (const child of Array.from(childrenOf(el))) walk(child, hidden, depth + 1);
    }
    if (isDrawn && sortOf(el) && !acted) buffer += ` (${sortOf(el)}) `;
    if (isStyled) buffer += after;
    if (!inline && !inside) flush();
    line = outerLine;
    heading = outer;
    enclosing = surrounding;
    preformatted = outerPreformatted;
    bounds = outerBounds;
    isInRow = outerRow;
    isInCell = outerCell;
  };

  // The part of the viewport in which an area that scrolls or clips shows its content.
  const isOutsideOf = (area, rect) => rect.right <= area.left || rect.left >= area.right || rect.bottom <= area.top || rect.top >= area.bottom;
  const escapes = (el, style) => style.position === "fixed" || style.position === "absolute" && !(el.offsetParent && holds(bounds.el, el.offsetParent));
  const boundsOf = (el, style, rect) => {
    const cuts = style.overflow !== "visible" && !INLINE.test(style.display) && el !== document.body && rect.width > 0 && rect.height > 0;
    if (!cuts) return bounds;
    const area = bounds || { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    return { el, left: Math.max(rect.left, area.left), top: Math.max(rect.top, area.top), right: Math.min(rect.right, area.right), bottom: Math.min(rect.bottom, area.bottom) };
  };

  const hasOwnText = (el) => Array.from(el.childNodes).some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());

  if (document.body) walk(document.body, false, 0);
  flush();
  const lines = finish();
  const page = document.scrollingElement || document.documentElement;
  return {
    token: store.token, title: cut(squash(document.title), 200), ready: document.readyState,
    items: lines, counts,
    scroll: { top: Math.round(window.scrollY), height: page ? page.scrollHeight : 0, view: height, left: Math.round(window.scrollX), width: page ? page.scrollWidth : 0, across: width },
  };
}
