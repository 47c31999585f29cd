// How long nothing has changed, in milliseconds, and how much has changed so far; needs openStore.
() => {
  const store = openStore();
  return { token: store.token, still: performance.now() - store.changedAt, changes: store.changes, ready: document.readyState };
}
