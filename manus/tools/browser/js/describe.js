// The properties of an element for the tool that is going to act on it.
(element) => {
  const type = (element.type || "").toLowerCase();
  const kinds = { file: /^file$/, button: /^(checkbox|radio|button|submit|reset|image)$/, formed: /^(date|time|datetime-local|month|week|color|range|number)$/, line: /./ };
  const kindOf = { SELECT: "list", TEXTAREA: "text", INPUT: Object.keys(kinds).find((kind) => kinds[kind].test(type)) };
  const valued = "[role=combobox], [role=listbox], [role=textbox], [role=searchbox], [role=spinbutton], [aria-haspopup]";
  return {
    is_field: isField(element) && !kinds.button.test(type) || element.matches(valued),
    type, is_editor: isEditor(element), has_value: "value" in element, kind: kindOf[element.tagName] || (element.isContentEditable || isEditor(element) ? "text" : "other"),
    disabled: !!element.disabled || element.matches(":disabled"), read_only: !!element.readOnly,
    suggests: element.matches("[aria-autocomplete]:not([aria-autocomplete=none]), [role=combobox], [aria-haspopup], [aria-controls], [list], [autocomplete=off], [class*=autocomplete i], [class*=typeahead i]"),
    is_behind_label: type !== "range" && !!drawnFor(element),
  };
}
