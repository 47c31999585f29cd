// One look at a document: what can be acted on in and near the viewport, and the text around it.
// Takes {clip, near, maxElements, maxTexts}; needs openStore.
(options) => {
  const store = openStore();
  const width = window.innerWidth, height = window.innerHeight;
  const clip = options.clip || { left: 0, top: 0, right: width, bottom: height };
  const near = { top: clip.top - options.near, bottom: clip.bottom + options.near };
  const items = [];
  const counts = { above: 0, below: 0, elements: 0, texts: 0, left: 0 };

  const SKIP = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "HR", "OPTION", "OPTGROUP", "DATALIST", "SOURCE", "TRACK", "PARAM", "AREA"]);
  const NATIVE = new Set(["BUTTON", "INPUT", "SELECT", "TEXTAREA", "SUMMARY", "CANVAS"]);
  const ROLES = new Set(["button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "combobox", "textbox", "searchbox", "slider", "spinbutton", "treeitem", "gridcell"]);
  const TAGS = { A: "link", BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox", CANVAS: "canvas", VIDEO: "video", AUDIO: "audio" };
  const INPUTS = { button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", text: "textbox", "": "textbox" };
  const INLINE = /^(inline|contents|ruby|table-cell|none)/;
  const SVG = "http://www.w3.org/2000/svg";

  const squash = (text) => String(text ?? "").replace(/[\s\u200b\ufeff]+/g, " ").trim();
  const quoted = (text) => `"${text.replaceAll('"', "'")}"`;
  const called = (role, name) => (name ? `${role} ${quoted(name)}` : role);
  const cut = (text, limit) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);
  const parentOf = (node) => node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  const childrenOf = (el) => (el.shadowRoot ? el.shadowRoot.childNodes : el.tagName === "SLOT" && el.assignedNodes().length ? el.assignedNodes() : el.childNodes);
  const holds = (outer, inner) => {
    for (let node = inner; node; node = parentOf(node)) if (node === outer) return true;
    return false;
  };
  const isShown = (el) => !el.checkVisibility || el.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false });

  const hitAt = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.shadowRoot) {
      const deeper = hit.shadowRoot.elementFromPoint(x, y);
      if (!deeper || deeper === hit) break;
      hit = deeper;
    }
    return hit;
  };

  // Whether any of a few points of the element is really it, and not something lying over it.
  const isUncovered = (el, rects) => {
    const labels = el.labels ? Array.from(el.labels) : [];
    const passes = getComputedStyle(el).pointerEvents === "none";
    for (const rect of rects.slice(0, 3)) {
      const left = Math.max(rect.left, clip.left, 0), right = Math.min(rect.right, clip.right, width);
      const top = Math.max(rect.top, clip.top, 0), bottom = Math.min(rect.bottom, clip.bottom, height);
      if (right - left < 1 || bottom - top < 1) continue;
      for (const [fx, fy] of [[0.5, 0.5], [0.15, 0.2], [0.85, 0.2], [0.15, 0.8], [0.85, 0.8]]) {
        const hit = hitAt(left + (right - left) * fx, top + (bottom - top) * fy);
        if (!hit) continue;
        if (holds(el, hit) || labels.some((label) => holds(label, hit))) return true;
        if (passes && holds(hit, el)) return true;
      }
    }
    return false;
  };

  const textOf = (el, limit) => {
    let text = "";
    const collect = (node) => {
      if (node.nodeType === Node.TEXT_NODE) text += node.data;
      if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName) || text.length > limit * 2) return;
      const inner = node !== el;
      if (inner && (node.getAttribute("aria-hidden") === "true" || !isShown(node))) return;
      const said = node.tagName === "BR" ? " " : node.tagName === "IMG" ? node.alt || " " : inner && node.getAttribute("aria-label");
      if (said) { text += ` ${said} `; return; }
      const block = inner && /^(DIV|P|LI|TD|TH|TR|H[1-6]|UL|OL|SECTION)$/.test(node.tagName);
      if (block) text += " ";
      for (const child of childrenOf(node)) collect(child);
      if (block) text += " ";
    };
    collect(el);
    return cut(squash(text), limit);
  };

  const byIds = (el, attribute) => {
    const root = el.getRootNode();
    return squash((el.getAttribute(attribute) || "").split(/\s+/).map((id) => (id && root.getElementById ? root.getElementById(id) : null)).filter(Boolean).map((other) => textOf(other, 100)).join(" "));
  };

  // An element without words may be told by how its author calls it.
  const hintOf = (el) => {
    const inner = el.querySelector?.("svg title, i[class], img[src]");
    return cut(squash(el.getAttribute("data-testid") || el.id || el.getAttribute("class") || inner?.textContent || inner?.getAttribute("class") || inner?.getAttribute("src")?.split("/").pop()), 40);
  };

  const nameOf = (el, role) => {
    const tag = el.tagName, type = (el.type || "").toLowerCase();
    const labelled = byIds(el, "aria-labelledby") || squash(el.getAttribute("aria-label"));
    if (labelled) return cut(labelled, 120);
    if (tag === "INPUT" && ["button", "submit", "reset"].includes(type)) return squash(el.value) || type;
    if (tag === "INPUT" && type === "image") return squash(el.alt || el.title);
    const labels = squash(Array.from(el.labels || []).map((label) => textOf(label, 100)).join(" "));
    if (labels) return cut(labels, 120);
    if (["INPUT", "TEXTAREA", "SELECT"].includes(tag)) return cut(squash(el.placeholder || el.title || el.name || el.id), 100);
    if (el.isContentEditable) return squash(el.getAttribute("aria-placeholder") || el.getAttribute("data-placeholder") || el.title);
    return textOf(el, 120) || squash(el.title) || squash(el.getAttribute("alt"));
  };

  const roleOf = (el) => {
    const given = squash(el.getAttribute("role")).split(" ")[0];
    if (given && given !== "presentation" && given !== "none" && given !== "generic") return given;
    const tag = el.tagName, type = (el.type || "").toLowerCase();
    if (tag === "INPUT") return INPUTS[type] || `${type} field`;
    if (tag === "SELECT") return el.multiple ? "listbox" : "combobox";
    if (TAGS[tag] || el.isContentEditable) return TAGS[tag] || "textbox";
    return el.namespaceURI === SVG || tag === "LABEL" || tag === "IMG" ? el.localName : "clickable";
  };

  // Attributes first: what it costs to ask decides the order, and most elements are nothing.
  const isNative = (el) => {
    const tag = el.tagName;
    if (NATIVE.has(tag)) return tag !== "INPUT" || el.type !== "hidden";
    if (tag === "A") return el.hasAttribute("href") || el.hasAttribute("onclick") || store.listening.has(el);
    if ((tag === "VIDEO" || tag === "AUDIO") && el.controls) return true;
    const role = el.getAttribute("role");
    return role !== null && ROLES.has(role.trim().split(" ")[0]);
  };

  const isClickable = (el, style) => {
    if (el === document.body || el === document.documentElement) return false;
    const editing = el.getAttribute("contenteditable");
    if (editing !== null && editing !== "false") return true;
    if (el.tagName === "LABEL") return false;
    const listens = store.listening.has(el) || typeof el.onclick === "function" || typeof el.onmousedown === "function";
    const pointed = style.cursor === "pointer" && (!el.parentElement || getComputedStyle(el.parentElement).cursor !== "pointer");
    // An area that scrolls is focusable for the keyboard's sake; it is listed as such.
    const focusable = el.hasAttribute("tabindex") && el.tabIndex >= 0 && !/(auto|scroll)/.test(style.overflowY);
    if (!(listens || pointed || focusable)) return false;
    // It listens for what happens to the things inside it.
    if (!focusable && el.querySelectorAll("a[href], button, input, select, textarea, [role]").length > 1) return false;
    const rect = el.getBoundingClientRect();
    const large = rect.width * rect.height > 0.5 * width * height;
    return !(large && el.childElementCount > 1);
  };

  const statesOf = (el, role) => {
    const on = (name) => el.getAttribute(`aria-${name}`);
    const states = [];
    if (["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"].includes(role)) {
      const checked = el.tagName === "INPUT" ? (el.indeterminate ? "mixed" : String(el.checked)) : on("checked");
      states.push(checked === "mixed" ? "half checked" : checked === "true" ? "checked" : "unchecked");
    }
    if (el.tagName === "TEXTAREA") states.push("multiline");
    if (el.disabled || on("disabled") === "true" || (el.matches && el.matches(":disabled"))) states.push("disabled");
    if (el.tagName === "SUMMARY") states.push(el.parentElement && el.parentElement.open ? "expanded" : "collapsed");
    else if (on("expanded")) states.push(on("expanded") === "true" ? "expanded" : "collapsed");
    if (on("selected") === "true" || on("current") && on("current") !== "false") states.push("selected");
    if (on("pressed") === "true") states.push("pressed");
    if (el.required || on("required") === "true") states.push("required");
    if (el.readOnly || on("readonly") === "true") states.push("read only");
    if (on("invalid") === "true" || (["INPUT", "TEXTAREA", "SELECT"].includes(el.tagName) && el.matches(":user-invalid"))) states.push("invalid");
    if (el.getRootNode().activeElement === el) states.push("focused");
    return states;
  };

  const valueOf = (el, role) => {
    const type = (el.type || "").toLowerCase();
    if (el.tagName === "INPUT") {
      if (["checkbox", "radio", "button", "submit", "reset", "image"].includes(type)) return null;
      if (type === "password") return el.value ? "••••" : "";
      if (type === "file") return Array.from(el.files || []).map((file) => file.name).join(", ");
      return cut(squash(el.value), 120);
    }
    if (el.tagName === "TEXTAREA") return cut(squash(el.value), 200);
    if (el.tagName === "SELECT") return cut(Array.from(el.selectedOptions).map((o) => squash(o.label)).join(", "), 120);
    if (el.isContentEditable) return cut(squash(el.innerText), 200);
    return el.getAttribute("aria-valuetext") || el.getAttribute("aria-valuenow");
  };

  const extrasOf = (el) => {
    const type = (el.type || "").toLowerCase();
    if (el.tagName === "INPUT" && ["range", "number"].includes(type) && (el.min || el.max)) return `${el.min || "…"} to ${el.max || "…"}`;
    if (el.tagName === "SELECT") {
      const all = Array.from(el.options).map((o) => squash(o.label));
      const shown = all.slice(0, 6).map((text) => cut(text, 30)).join(" | ");
      return `options: ${shown}${all.length > 6 ? ` … (${all.length} in all)` : ""}`;
    }
    return "";
  };

  const idOf = (el) => {
    let id = store.ids.get(el);
    if (!id) {
      id = store.next++;
      store.ids.set(el, id);
      store.elements.set(id, new WeakRef(el));
    }
    return id;
  };

  // An element as it is shown, behind its number, and what it is called when it is spoken of.
  const addElement = (el, rect, place) => {
    counts.elements++;
    const role = roleOf(el), name = nameOf(el, role), value = valueOf(el, role), states = statesOf(el, role), extra = extrasOf(el);
    const label = called(role, name), parts = [label], hint = name ? "" : hintOf(el);
    if (hint) parts.push(`(looks like: ${hint})`);
    if (value !== null && value !== name) parts.push(`= ${quoted(value)}`);
    if (states.length) parts.push(`(${states.join(", ")})`);
    if (extra) parts.push(`[${cut(extra, 260)}]`);
    if (el.tagName === "CANVAS") parts.push(`at ${Math.round(rect.left)},${Math.round(rect.top)} size ${Math.round(rect.width)}×${Math.round(rect.height)}`);
    if (place !== "view") parts.push(`(${place.replace("near ", "")} the view)`);
    items.push({ kind: "element", id: idOf(el), place, label, text: squash(parts.join(" ")) }); // an attribute makes no line
  };

  const placeOf = (rect) => {
    if (rect.right <= clip.left || rect.left >= clip.right) return "beside";
    if (rect.bottom <= clip.top) return rect.bottom > near.top ? "near above" : "above";
    if (rect.top >= clip.bottom) return rect.top < near.bottom ? "near below" : "below";
    return "view";
  };

  let buffer = "", bufferPlace = "view", heading = 0;
  const flush = () => {
    const text = squash(buffer).replace(/^(\| )+|( \|)+$/g, "");
    buffer = "";
    if (!text || text === "|" || counts.texts >= options.maxTexts) return;
    counts.texts++;
    items.push({ kind: "text", place: bufferPlace, text: `${heading ? "#".repeat(heading) : "|"} ${cut(text, 400)}`, heading });
  };

  // Small inputs hidden behind a styled label are acted on through the label.
  const standIn = (el) => el.tagName === "INPUT" && ["checkbox", "radio", "file"].includes(el.type)
    && Array.from(el.labels || []).find((one) => one.getBoundingClientRect().width > 1);

  const consider = (el, rect, style, place) => {
    const replaced = (rect.width < 2 || rect.height < 2 || style.opacity === "0" || style.visibility !== "visible") && standIn(el);
    if (!replaced && style.visibility !== "visible") return false;
    const box = replaced ? replaced.getBoundingClientRect() : rect;
    if (box.width < 1 || box.height < 1) return false;
    const where = replaced ? placeOf(box) : place;
    if (counts.elements >= options.maxElements) { // enough: the costly questions are not worth it
      if (where === "view") counts.left++;
      return true;
    }
    if (where === "view") {
      const shown = replaced || el;
      const rects = Array.from(shown.getClientRects()).filter((one) => one.width >= 1 && one.height >= 1);
      if (!isUncovered(shown, rects.length ? rects : [box])) return false;
      if (!replaced && el.checkVisibility && !el.checkVisibility({ opacityProperty: true }) && !["checkbox", "radio", "file"].includes(el.type)) return false;
    }
    flush();
    addElement(el, box, where);
    return true;
  };

  const scrollArea = (el, style, rect, place) => {
    if (place !== "view" || el === document.scrollingElement || el === document.body) return;
    const more = el.scrollHeight - el.clientHeight;
    if (more < 12 || el.clientHeight < 40 || !/(auto|scroll|overlay)/.test(style.overflowY) || el.tagName === "TEXTAREA" || el.tagName === "SELECT") return;
    flush();
    const label = called("scroll area", cut(squash(el.getAttribute("aria-label")), 60));
    items.push({ kind: "element", id: idOf(el), place, label, text: `${label} (${Math.round(el.scrollTop)} px above, ${Math.round(more - el.scrollTop)} px below)` });
  };

  const walk = (node, inside, depth) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!inside && buffer.length < 1000) buffer += node.data;
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName) || depth > 1500) return;
    const el = node;
    if (el.tagName === "BR") { buffer += " "; return; }
    const rect = el.getBoundingClientRect();
    // What is flat itself (no height, or no box at all) may still hold what can be seen.
    const empty = rect.width === 0 || rect.height === 0;
    const place = empty ? "view" : placeOf(rect);
    const native = isNative(el);
    if (place === "above" || place === "below" || place === "beside") {
      if (native && !empty) counts[place] = (counts[place] || 0) + 1;
      // Cheap, since nothing in it can be seen: its children are only counted, or found to be
      // positioned elsewhere.
      for (let child = el.firstElementChild; child; child = child.nextElementSibling) walk(child, true, depth + 1);
      if (el.shadowRoot) for (const child of el.shadowRoot.children) walk(child, true, depth + 1);
      return;
    }
    const style = getComputedStyle(el);
    if (style.display === "none" || el.inert) return;
    if (empty && !native && !el.firstChild && !el.shadowRoot) return;
    if (el.tagName === "IFRAME" || el.tagName === "FRAME") {
      if (place === "view" && rect.width > 4 && rect.height > 4 && style.visibility === "visible" && isUncovered(el, [rect])) {
        flush();
        const left = rect.left + el.clientLeft + parseFloat(style.paddingLeft || 0), top = rect.top + el.clientTop + parseFloat(style.paddingTop || 0);
        items.push({ kind: "frame", id: idOf(el), place, text: called("frame", cut(squash(el.title || el.name || el.id), 60)), clip: { left: Math.max(0, clip.left - left), top: Math.max(0, clip.top - top), right: Math.min(rect.right, clip.right) - left, bottom: Math.min(rect.bottom, clip.bottom) - top } });
      }
      return;
    }
    const inline = INLINE.test(style.display);
    if (!inline && !inside) flush();
    scrollArea(el, style, rect, place);
    const actable = native || (!empty && isClickable(el, style));
    const acted = actable && consider(el, rect, style, place);
    if (el.tagName === "SELECT" || el.tagName === "TEXTAREA" || el.tagName === "CANVAS") return;
    const named = el.tagName === "LABEL" && el.control && el.control.type !== "hidden"; // said with its field
    // Of a large clickable thing, such as a card, only the beginning is its name: the rest is text.
    const swallowed = actable && (native || el.textContent.length < 200);
    const hidden = inside || swallowed || named || style.visibility !== "visible" && !el.firstElementChild;
    const outer = heading;
    const level = /^H[1-6]$/.test(el.tagName) ? Number(el.tagName[1]) : el.getAttribute("role") === "heading" ? Number(el.getAttribute("aria-level") || 2) : 0;
    if (level) heading = level;
    if (!hidden && !empty) bufferPlace = place;
    if (!hidden && (el.tagName === "TD" || el.tagName === "TH")) buffer += buffer.trim() ? " | " : "";
    if (!hidden && el.tagName === "IMG" && el.alt) buffer += ` (image: ${el.alt}) `;
    if (!hidden && place === "view" && !inline && counts.texts < options.maxTexts && hasOwnText(el) && !isUncovered(el, [rect])) {
      for (let child = el.firstElementChild; child; child = child.nextElementSibling) walk(child, inside, depth + 1);
    } else {
      for (const child of Array.from(childrenOf(el))) walk(child, hidden, depth + 1);
    }
    if (!inline && !inside) { if (level) flush(); else if (el.tagName !== "TD" && el.tagName !== "TH") flush(); }
    heading = outer;
  };

  const hasOwnText = (el) => Array.from(el.childNodes).some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());

  if (document.body) walk(document.body, false, 0);
  flush();
  const page = document.scrollingElement || document.documentElement;
  return {
    token: store.token, title: cut(squash(document.title), 200), ready: document.readyState,
    items, counts,
    scroll: { top: Math.round(window.scrollY), height: page ? page.scrollHeight : 0, view: height, left: Math.round(window.scrollX), width: page ? page.scrollWidth : 0, across: width },
  };
}
