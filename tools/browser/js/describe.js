// What an element is to the tool that is going to act on it.
(element) => {
  const shown = element.getClientRects().length > 0 && (!element.checkVisibility || element.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
  return {
    tag: element.tagName, type: (element.type || "").toLowerCase(), editable: element.isContentEditable,
    disabled: !!element.disabled || element.matches(":disabled"), read_only: !!element.readOnly,
    is_behind_label: !shown && !!(element.labels && element.labels.length),
  };
}
