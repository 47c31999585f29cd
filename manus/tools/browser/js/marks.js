// Draws the numbers of elements over the page, for a screenshot; removes them if there are none.
// Takes {token, numbers: [[id, number], …]}; needs openStore.
({ token, numbers }) => {
  const KEY = Symbol.for("manus.marks");
  window[KEY]?.remove();
  delete window[KEY];
  const store = openStore();
  if (store.token !== token || !numbers.length) return;
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "closed" });
  const styled = (style) => {
    const element = document.createElement("div");
    Object.assign(element.style, { position: "fixed", pointerEvents: "none", boxSizing: "border-box", margin: "0" }, style);
    root.append(element);
    return element;
  };
  const COLORS = ["#c2185b", "#1565c0", "#2e7d32", "#6a1b9a", "#bf360c", "#00695c"];
  for (const [id, number] of numbers) {
    const element = store.elements.get(id)?.deref();
    const rect = element?.isConnected && Array.from(element.getClientRects()).find((one) => one.width >= 1 && one.height >= 1);
    if (!rect || rect.bottom <= 0 || rect.right <= 0 || rect.top >= innerHeight || rect.left >= innerWidth) continue;
    const color = COLORS[number % COLORS.length];
    styled({ left: `${rect.left}px`, top: `${rect.top}px`, width: `${rect.width}px`, height: `${rect.height}px`, border: `1px solid ${color}` });
    const isSmall = rect.height < 26 || rect.width < 40; // The number must not cover it.
    const top = isSmall ? Math.max(0, rect.top - 11) : rect.top;
    const label = styled({ left: `${Math.max(0, rect.left)}px`, top: `${top}px`, padding: "0 2px", background: color, color: "#fff", font: "bold 10px/11px sans-serif", whiteSpace: "nowrap" });
    label.textContent = String(number);
  }
  Object.assign(host.style, { position: "fixed", inset: "0", zIndex: "2147483647", pointerEvents: "none", background: "none", border: "0", padding: "0", margin: "0", width: "auto", height: "auto", overflow: "visible" });
  document.documentElement.append(host);
  if (host.showPopover) { host.popover = "manual"; host.showPopover(); } // above dialogs
  Object.defineProperty(window, KEY, { value: host, enumerable: false, configurable: true });
}
