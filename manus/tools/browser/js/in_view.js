// Whether each element is in view. Takes an array of elements; returns an array of booleans.
(elements) => elements.map((element) => {
  const rect = element.getBoundingClientRect();
  const x = rect.left + rect.width / 2, y = rect.top + rect.height / 2;
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
  const hit = element.getRootNode().elementFromPoint(x, y);
  return !!hit && (element.contains(hit) || hit.contains(element));
})
