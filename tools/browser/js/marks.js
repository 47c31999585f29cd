// Draws numbers at places, over everything, or takes them away again. Takes a list of
// [number, left, top, width, height], or null.
(marks) => {
  const id = "manus-marks";
  document.getElementById(id)?.remove();
  if (!marks) return;
  const layer = document.createElement("div");
  layer.id = id;
  layer.style.cssText = "all:initial;position:fixed;inset:0;z-index:2147483647;pointer-events:none";
  const root = layer.attachShadow({ mode: "open" });
  const colors = ["#c00", "#06c", "#080", "#a0a", "#b60", "#066"];
  for (const [number, left, top, width, height] of marks) {
    const color = colors[number % colors.length];
    const box = document.createElement("div");
    box.style.cssText = `position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px;box-sizing:border-box;border:1.5px solid ${color}`;
    const tag = document.createElement("span");
    tag.textContent = number;
    tag.style.cssText = `position:absolute;left:-1px;top:${top > 14 ? -14 : 0}px;background:${color};color:#fff;font:bold 11px/13px sans-serif;padding:0 2px`;
    box.append(tag);
    root.append(box);
  }
  document.documentElement.append(layer);
}
