// The options that an element offers: of a select, of a list it suggests from, of a custom list.
(element) => {
  const squash = (text) => String(text || "").replace(/\s+/g, " ").trim();
  const native = element.tagName === "SELECT" ? element : element.querySelector && element.querySelector("select");
  if (native) return { kind: "select", multiple: native.multiple, options: Array.from(native.options).map((o) => ({ text: squash(o.label), value: o.value, chosen: o.selected, disabled: o.disabled || (o.parentElement.disabled ?? false), group: squash(o.parentElement.label) })) };
  if (element.list) return { kind: "datalist", multiple: false, options: Array.from(element.list.options).map((o) => ({ text: squash(o.label || o.value), value: o.value, chosen: element.value === o.value, disabled: false, group: "" })) };
  const root = element.getRootNode();
  const owned = (element.getAttribute("aria-controls") || element.getAttribute("aria-owns") || "").split(/\s+/).map((id) => id && root.getElementById && root.getElementById(id)).filter(Boolean);
  for (const list of [element, ...owned]) {
    const items = list.querySelectorAll('[role="option"], [role="menuitem"], [role="menuitemradio"], [role="menuitemcheckbox"], [role="treeitem"]');
    if (items.length) return { kind: "list", multiple: false, options: Array.from(items).map((o) => ({ text: squash(o.getAttribute("aria-label") || o.textContent), value: o.getAttribute("data-value") || "", chosen: o.getAttribute("aria-selected") === "true" || o.getAttribute("aria-checked") === "true", disabled: o.getAttribute("aria-disabled") === "true", group: "" })) };
  }
  return null;
}
