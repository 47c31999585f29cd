// What an element is to the tool that is going to act on it.
(element) => ({
  tag: element.tagName, type: (element.type || "").toLowerCase(), editable: element.isContentEditable,
  multiple: !!element.multiple, disabled: !!element.disabled || element.matches(":disabled"), readOnly: !!element.readOnly,
  shown: element.getClientRects().length > 0 && (!element.checkVisibility || element.checkVisibility({ visibilityProperty: true, opacityProperty: true })),
  opens: /^(?!_self$|_top$|_parent$)./i.test(element.closest("a[target], area[target]")?.target || ""),
  label: !!(element.labels && element.labels.length),
})
