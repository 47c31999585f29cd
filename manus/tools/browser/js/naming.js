// The names, descriptions, roles and states of elements.
// Prepended to the scripts that read a page; needs openStore.
const store = openStore();

const SKIP = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "HR", "OPTION", "OPTGROUP", "DATALIST", "SOURCE", "TRACK", "PARAM", "AREA"]);
const NATIVE = new Set(["BUTTON", "INPUT", "SELECT", "TEXTAREA", "SUMMARY", "CANVAS"]);
const ROLES = new Set(["button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "combobox", "textbox", "searchbox", "slider", "spinbutton", "treeitem", "gridcell"]);
const TAGS = { A: "link", BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox", CANVAS: "canvas", VIDEO: "video", AUDIO: "audio" };
const INPUTS = { button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", text: "textbox", "": "textbox" };
const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["rect", "circle", "ellipse", "polygon", "polyline", "line"]);
const MIN_LINES = 4; // From this many lines on, the text of a clickable element is not its name.
const REPEATS = /^(UL|OL|MENU|TABLE|TBODY|TR)$/;
const INTERACTIVE = "a[href], button, input, select, textarea, [role], [onclick]";
const MIN_ROOT_KINDS = 5; // A framework listens for all kinds of events at its root element.
const LINE_BREAK = "⏎";

const squash = (text) => String(text ?? "").replace(/[\s\u200b\ufeff]+/g, " ").trim();
const quoted = (text) => `"${text.replaceAll('"', "'")}"`;
const called = (role, name) => (name ? `${role} ${quoted(name)}` : role);
const cut = (text, limit) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);
const parentOf = (node) => node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
const childrenOf = (el) => (shadowOf(el) ? shadowOf(el).childNodes : el.tagName === "SLOT" && el.assignedNodes().length ? el.assignedNodes() : el.childNodes);
const hitAt = (x, y) => {
  let hit = document.elementFromPoint(x, y);
  while (hit && shadowOf(hit)) {
    const deeper = shadowOf(hit).elementFromPoint(x, y);
    if (!deeper || deeper === hit) break;
    hit = deeper;
  }
  return hit;
};
// What is drawn in the place of an input that is hidden, clipped or behind it, and receives its clicks:
// the label of a box or file field, the thumb of a slider.
const drawnFor = (el) => {
  if (el.tagName !== "INPUT" || el.inert || !/^(checkbox|radio|file|range)$/.test(el.type)) return null;
  const parts = el.type === "range" ? [el.parentElement] : Array.from(el.labels || []);
  const part = parts.find((one) => one && one.getBoundingClientRect().width > 1);
  if (!part) return null;
  const rect = el.getBoundingClientRect(), style = getComputedStyle(el);
  const isShown = rect.width >= 2 && rect.height >= 2 && el.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  if (!isShown || rect.right <= 0 || style.clip !== "auto" || style.clipPath !== "none") return part;
  const hit = hitAt(rect.left + rect.width / 2, rect.top + rect.height / 2);
  return hit && hit !== el && holds(part, hit) ? part : null;
};
const holds = (outer, inner) => {
  for (let node = inner; node; node = parentOf(node)) if (node === outer) return true;
  return false;
};
// Whether the element is laid out, or at least its children are (`display: contents`, a slot).
const hasBox = (el) => !el.checkVisibility || el.checkVisibility() || (getComputedStyle(el).display === "contents" && !!parentOf(el) && hasBox(parentOf(el)));
const isShown = (el) => hasBox(el) && getComputedStyle(el).visibility === "visible";

// The color that distinguishes an unnamed element from others, such as "#ff0000"; "" if it has none.
const colorOf = (el) => {
  const style = getComputedStyle(el);
  const isShape = el.namespaceURI === SVG;
  for (const color of isShape ? [style.fill, style.stroke] : [style.backgroundColor]) {
    const parts = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(color);
    if (parts && parts[4] !== "0") return "#" + parts.slice(1, 4).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  }
  return "";
};

const GRABBED = /^(grab|move|all-scroll|(col|row|se|nwse|ew|ns)-resize)$/;
const isDeclaredDraggable = (el) => el.getAttribute("draggable") === "true" || /(^|\s)(ui-draggable|ui-sortable-handle)(\s|$)/.test(el.getAttribute("class") || "");
const isDraggable = (el) => isDeclaredDraggable(el) || GRABBED.test(getComputedStyle(el).cursor);

// Whether a listener of the element is meant for its similar children, as in a sortable list.
const hasEqualItems = (el) => {
  const children = Array.from(el.children).filter((child) => !SKIP.has(child.tagName));
  const [first] = children;
  // the last one of a sorted list, whose box listens for what is dragged
  const isPressed = ["mousedown", "pointerdown", "touchstart"].some((kind) => store.listening.get(el)?.has(kind)) && !store.listening.get(el).has("click");
  if (children.length < 2) return children.length === 1 && isPressed && lettersOf(first) > 0;
  const areEqual = children.every((child) => child.tagName === first.tagName && (REPEATS.test(el.tagName) || child.classList[0] === first.classList[0]));
  return areEqual && (REPEATS.test(el.tagName) || first.classList.length > 0);
};
const isItem = (el) => {
  const parent = parentOf(el);
  return !!parent && store.listening.has(parent) && !isRoot(parent) && hasEqualItems(parent) && !el.querySelector(INTERACTIVE);
};
const MAX_INNER = 200;
const lettersOf = (el) => el.textContent.replace(/\s/g, "").length;
// Whether an element that looks clickable only contains elements that listen for clicks themselves:
// a menu and its entries, an icon and the menu that it opens.
const isWrapper = (el) => {
  const inner = el.getElementsByTagName("*");
  if (inner.length > MAX_INNER) return false;
  const listening = Array.from(inner).filter((part) => store.listening.has(part) || typeof part.onclick === "function");
  const parts = listening.filter((part) => !listening.some((other) => other !== part && other.contains(part)));
  return parts.length > 1 && parts.reduce((sum, part) => sum + lettersOf(part), 0) === lettersOf(el);
};
// Whether a component handles clicks on the element, for which React listens at its root.
const isDelegating = (el) => {
  const props = el[Object.keys(el).find((key) => key.startsWith("__reactProps$"))];
  return !!props && ["onClick", "onMouseDown", "onPointerDown", "onDoubleClick"].some((name) => typeof props[name] === "function");
};
const isDropTarget = (el) => !isRoot(el) && (!!store.listening.get(el)?.has("drop") || typeof el.ondrop === "function" || el.classList.contains("ui-droppable"));
const isRoot = (el) => (store.listening.get(el)?.size || 0) >= MIN_ROOT_KINDS;

// The text that a style draws before or after the content of an element; not the glyphs of icon fonts.
const styledText = (el, side) => {
  const style = getComputedStyle(el, `::${side}`);
  const [, text] = /^"((?:[^"\\]|\\.)*)"/.exec(style.content) || [];
  const isDrawn = text && style.display !== "none" && style.visibility === "visible" && style.opacity !== "0";
  return isDrawn ? ` ${text.replace(/\\(.)/g, "$1").replace(/[\ue000-\uf8ff]/g, "")} ` : "";
};
// Whether a text has a word that another one lacks.
const hasMore = (text, other) => squash(text).toLowerCase().split(" ").some((word) => /[\p{L}\p{N}]/u.test(word) && !other.toLowerCase().includes(word));

const textOf = (el, limit) => {
  let text = "";
  const isTreeItem = el.getAttribute("role") === "treeitem"; // its subitems have names of their own
  const collect = (node) => {
    if (node.nodeType === Node.TEXT_NODE) text += node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName) || text.length > limit * 2) return;
    const inner = node !== el;
    if (inner && isTreeItem && /^(group|treeitem)$/.test(node.getAttribute("role") || "")) return;
    if (inner && (/^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) || node.getAttribute("aria-hidden") === "true" || !isShown(node))) return;
    const said = node.tagName === "BR" ? " " : node.tagName === "IMG" ? node.alt || " " : inner && node.getAttribute("aria-label");
    if (said) text += ` ${said} `;
    if (said && !hasMore(node.textContent, said)) return;
    const block = inner && /^(DIV|P|LI|TD|TH|TR|H[1-6]|UL|OL|SECTION|BUTTON)$/.test(node.tagName);
    if (block) text += " ";
    text += styledText(node, "before");
    for (const child of childrenOf(node)) collect(child);
    text += styledText(node, "after");
    if (block) text += " ";
  };
  collect(el);
  return cut(squash(text), limit);
};

const byIds = (el, attribute) => {
  const root = el.getRootNode();
  return squash((el.getAttribute(attribute) || "").split(/\s+/).map((id) => (id && root.getElementById ? root.getElementById(id) : null)).filter(Boolean).map((other) => textOf(other, 100)).join(" "));
};

// An element without text may be identified by its tooltip, its icon, or the author's name for it.
const TIPS = ["data-tooltip", "data-tip", "data-original-title", "data-bs-original-title", "data-bs-title"];
const ICON = "svg, i, img, use, [data-icon], [class*=icon]";
const lastPart = (address) => (address || "").replace(/\?.*$/, "").split(/[/#]/).pop();
const iconOf = (icon) => {
  const title = icon.querySelector(":scope > title")?.textContent || icon.getAttribute("data-icon") || icon.getAttribute("title");
  if (title) return title;
  if (icon.localName === "use") return lastPart(icon.getAttribute("href") || icon.getAttribute("xlink:href"));
  if (icon.localName === "img") return lastPart(icon.getAttribute("src"));
  return "";
};
// The class of an empty element that shows an icon as its background.
const drawnIconOf = (el) => {
  const names = (el.getAttribute("class") || "").split(/\s+/).filter((name) => /icon/.test(name));
  if (!names.length || el.childElementCount || squash(el.textContent) || el.getAttribute("aria-hidden") === "true") return "";
  return getComputedStyle(el).backgroundImage.startsWith("url(") && isShown(el) ? cut(names.at(-1), 40) : "";
};
const hintOf = (el) => {
  const named = el.getAttribute("data-testid") || el.getAttribute("data-value");
  const tip = TIPS.map((attribute) => el.getAttribute(attribute)).find(Boolean);
  const isGroup = !!el.querySelector?.(INTERACTIVE); // its icons belong to the elements in it
  const icons = isGroup ? [] : Array.from(el.querySelectorAll?.(ICON) || []).slice(0, 5);
  const drawn = icons.map(iconOf).find(Boolean);
  const styled = icons.map((icon) => icon.getAttribute("class")).find(Boolean);
  return cut(squash(tip || named || drawn || el.id || styled || el.getAttribute("class")), 40);
};

const MAX_NAME = 120;
const isField = (el) => /^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName) || el.isContentEditable || isEditor(el);
// A link or a button around a card, whose text is more than a name.
const isLongText = (el) => !isField(el) && el.textContent.length > MAX_NAME && squash(el.innerText).length > MAX_NAME && !/^(treeitem|option)$/.test(el.getAttribute("role"));

const nameOf = (el, role) => {
  const tag = el.tagName, type = (el.type || "").toLowerCase();
  const labelled = byIds(el, "aria-labelledby") || squash(el.getAttribute("aria-label"));
  if (labelled) return cut(labelled, 120);
  if (tag === "INPUT" && ["button", "submit", "reset"].includes(type)) return squash(el.value) || type;
  if (tag === "INPUT" && type === "image") return squash(el.alt || el.title);
  const labels = squash(Array.from(el.labels || []).map((label) => textOf(label, 100)).join(" "));
  if (labels) return cut(labels, 120);
  if (["INPUT", "TEXTAREA", "SELECT"].includes(tag)) return cut(squash(el.placeholder || el.title || el.name || el.id), 100);
  if (el.localName === "svg" && el.namespaceURI === SVG) return cut(squash(el.querySelector(":scope > title")?.textContent), 100);
  if (isEditor(el)) return "";
  if (el.isContentEditable) return squash(el.getAttribute("aria-placeholder") || el.getAttribute("data-placeholder") || el.title);
  const isLong = isNative(el) ? isLongText(el) : isDropTarget(el) || countLines(el) >= MIN_LINES;
  const [firstLine] = isLong ? linesOf(el) : [];
  return (firstLine ? cut(squash(firstLine), 60) : textOf(el, 120)) || squash(el.title) || squash(el.getAttribute("alt")) || hostNameOf(el);
};
// The name of the custom element that consists of this button.
const hostNameOf = (el) => {
  const root = el.getRootNode();
  return root.host && root.querySelectorAll(INTERACTIVE).length === 1 ? squash(root.host.getAttribute("aria-label") || root.host.title) : "";
};

const roleOf = (el) => {
  if (isEditor(el)) return "textbox";
  const given = squash(el.getAttribute("role")).split(" ")[0];
  if (given && given !== "presentation" && given !== "none" && given !== "generic") return given;
  const tag = el.tagName, type = (el.type || "").toLowerCase();
  if (tag === "INPUT") return INPUTS[type] || `${type} field`;
  if (tag === "SELECT") return el.multiple ? "listbox" : "combobox";
  if (TAGS[tag] || el.isContentEditable) return TAGS[tag] || "textbox";
  return el.namespaceURI === SVG || tag === "LABEL" || tag === "IMG" ? el.localName : "clickable";
};

// A code editor, whose text is only partly in the document: CodeMirror, Monaco, Ace.
const isEditor = (el) => el.tagName === "DIV" && /(^|\s)(CodeMirror|cm-editor|monaco-editor|ace_editor)(\s|$)/.test(el.getAttribute("class") || "");
const codeOf = (el) => {
  if (el.CodeMirror) return el.CodeMirror.getValue();
  if (el.env?.editor) return el.env.editor.getValue();
  const monaco = window.monaco?.editor?.getEditors?.().find((editor) => editor.getDomNode() === el);
  if (monaco) return monaco.getValue();
  const content = el.querySelector(".cm-content");
  const view = content?.cmTile?.view || content?.cmView?.view || content?.cmView?.rootView?.view;
  if (view) return view.state.doc.toString();
  const lines = Array.from(el.querySelectorAll(".cm-line, .view-line, .CodeMirror-line, .ace_line"));
  return lines.map((line) => [line.getBoundingClientRect().top, line.textContent]).sort((one, other) => one[0] - other[0]).map(([, text]) => text.replaceAll("\u00a0", " ")).join("\n");
};

// The text of an editable element as it was written, with a line for each block.
const writtenText = (el) => {
  let text = "", isLineEmpty = true;
  const end = () => { if (!isLineEmpty) { text += "\n"; isLineEmpty = true; } };
  const collect = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const data = /^pre/.test(getComputedStyle(node.parentElement).whiteSpace) ? node.data : node.data.replace(/[^\S\u00a0]+/g, " ");
      if (data.trim() || (data && !isLineEmpty)) { text += data; isLineEmpty = false; }
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || SKIP.has(node.tagName)) return;
    if (node.tagName === "BR") { text += "\n"; isLineEmpty = true; return; }
    const isBlock = !/^(inline|contents)/.test(getComputedStyle(node).display);
    if (isBlock) end();
    node.childNodes.forEach(collect);
    if (isBlock) end();
  };
  el.childNodes.forEach(collect);
  return text.replaceAll("\u00a0", " ").replace(/\n$/, "");
};

// The cheapest checks come first, since most elements are not interactive.
const isNative = (el) => {
  const tag = el.tagName;
  if (isEditor(el)) return true;
  if (NATIVE.has(tag)) return tag !== "INPUT" || el.type !== "hidden";
  if (tag === "A") return el.hasAttribute("href") || el.hasAttribute("onclick") || store.listening.has(el);
  if ((tag === "VIDEO" || tag === "AUDIO") && el.controls) return true;
  const role = el.getAttribute("role");
  return role !== null && ROLES.has(role.trim().split(" ")[0]);
};

const sortOf = (el) => (/^(ascending|descending)$/.test(el.getAttribute("aria-sort")) ? `sorted ${el.getAttribute("aria-sort")}` : "");

// Whether a disabled button may wait for the change event of a field that is being filled in.
const isAwaitingBlur = (el) => {
  const field = document.activeElement;
  return el.tagName === "BUTTON" && /^(INPUT|TEXTAREA)$/.test(field?.tagName) && field.value !== "" && field.form === el.form;
};

const statesOf = (el, role) => {
  const on = (name) => el.getAttribute(`aria-${name}`);
  const states = [];
  if (["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"].includes(role)) {
    const checked = el.tagName === "INPUT" ? (el.indeterminate ? "mixed" : String(el.checked)) : on("checked");
    states.push(checked === "mixed" ? "half checked" : checked === "true" ? "checked" : "unchecked");
  }
  if (el.tagName === "TEXTAREA" || isEditor(el)) states.push("multiline");
  if (el.disabled || on("disabled") === "true" || (el.matches && el.matches(":disabled"))) states.push(isAwaitingBlur(el) ? "disabled, maybe until the focused field is left" : "disabled");
  if (el.tagName === "SUMMARY") states.push(el.parentElement && el.parentElement.open ? "expanded" : "collapsed");
  else if (on("expanded")) states.push(on("expanded") === "true" ? "expanded" : "collapsed");
  if (on("selected") === "true" || on("current") && on("current") !== "false") states.push("selected");
  if (on("pressed") === "true") states.push("pressed");
  if (el.required || on("required") === "true") states.push("required");
  if (el.readOnly || on("readonly") === "true") states.push("read only");
  if (on("invalid") === "true" || (["INPUT", "TEXTAREA", "SELECT"].includes(el.tagName) && el.matches(":user-invalid"))) states.push("invalid");
  if (el.getRootNode().activeElement === el) states.push("focused");
  if (sortOf(el)) states.push(sortOf(el));
  if (role !== "slider" && isDraggable(el)) states.push("draggable");
  if (isDropTarget(el)) states.push("drop target");
  return states;
};

// A long text with symbols for its line breaks, since each element is one line; indents are kept.
const shorten = (text, limit) => {
  const value = String(text ?? "").replace(/\r\n?/g, "\n");
  const line = value.replace(/(\S)[^\S\n]+/g, "$1 ").replace(/ +(?=\n)|^\s*\n|\s+$/g, "").replaceAll("\n", LINE_BREAK);
  return line.length > limit ? `${line.slice(0, limit - 1)}… (${value.length.toLocaleString("en")} characters)` : line;
};

const valueOf = (el, role) => {
  const type = (el.type || "").toLowerCase();
  if (el.tagName === "INPUT") {
    if (["checkbox", "radio", "button", "submit", "reset", "image"].includes(type)) return null;
    if (type === "password") return el.value ? "••••" : "";
    if (type === "file") return Array.from(el.files || []).map((file) => file.name).join(", ");
    return shorten(type === "range" && el.getAttribute("aria-valuetext") || el.value, 120);
  }
  if (isEditor(el)) return shorten(codeOf(el), 200);
  if (el.tagName === "TEXTAREA") return shorten(el.value, 200);
  if (el.tagName === "SELECT") return cut(Array.from(el.selectedOptions).map((o) => squash(o.label)).join(", "), 120);
  if (el.isContentEditable) return shorten(writtenText(el), 200);
  return el.getAttribute("aria-valuetext") || el.getAttribute("aria-valuenow");
};

const extrasOf = (el, name) => {
  const type = (el.type || "").toLowerCase();
  if (el.tagName === "INPUT" && ["range", "number"].includes(type) && (el.min || el.max)) return `${el.min || "…"} to ${el.max || "…"}`;
  if (el.tagName === "SELECT") {
    const all = Array.from(el.options).map((o) => squash(o.label));
    const count = Math.max(6, el.size);
    const shown = all.slice(0, count).map((text) => cut(text, 30)).join(" | ");
    return `options: ${shown}${all.length > count ? ` … (${all.length} in all)` : ""}`;
  }
  if (el.placeholder && !el.value && hasMore(el.placeholder, name)) return `placeholder: ${cut(squash(el.placeholder), 60)}`;
  // a tooltip tells elements apart that have hardly any text: three markers, the days of two months
  if (el.title && (name.length < 4 || !squash(el.textContent)) && hasMore(el.title, name)) return cut(squash(el.title), 80);
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

// A key that distinguishes elements with the same label, even after the page has rerendered them.
const keyOf = (el) => cut(squash(el.id || el.getAttribute("data-testid") || el.getAttribute("name") || el.getAttribute("href")), 100);
const rowOf = (el) => {
  const row = el.closest("li, tr, p, article, [role=row], [role=listitem]");
  return row && row !== el ? textOf(row, 100) : "";
};

const isLabelled = (el) => el.hasAttribute("aria-label") || el.hasAttribute("aria-labelledby");
// A day, an entry or a panel whose label is not its text.
const isLabelledBox = (el, name) => (!isNative(el) || /^(gridcell|treeitem|tabpanel)$/.test(el.getAttribute("role") || "")) && isLabelled(el) && hasMore(el.textContent, name);
const linesOf = (el) => (el.innerText || "").split("\n").filter((line) => line.trim());
const countLines = (el) => linesOf(el).length;
