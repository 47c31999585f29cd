// The element of a number, or null if this document does not have it any more.
// Takes {token, id}; needs openStore.
({ token, id }) => {
  const store = openStore();
  const reference = store.token === token ? store.elements.get(id) : null;
  const element = reference && reference.deref();
  return element && element.isConnected ? element : null;
}
