/* Who this tab acts for: an API key, kept as long as the tab is open, else the user who is signed in.
 *
 * Every page loads it.
 */

const PREFIX_CHARS = 12; // by which the page of keys names a key
const user = document.documentElement.dataset.user; // empty if nobody is signed in

export function readKey() {
  return sessionStorage.getItem("key") ?? "";
}

/** Use a key from now on, without what this tab kept of another. */
export function useKey(key) {
  if (key !== readKey()) forgetKey();
  sessionStorage.setItem("key", key);
  showUsedKey();
}

export function forgetKey() {
  sessionStorage.clear();
  keepUser();
  showUsedKey();
}

/** Take the key of the address; one that would replace another key or a sign-in only if the user agrees. */
function takeKeyOfAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key")?.trim();
  if (key === undefined) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  const own = readKey();
  const isTaken = isKey(key) && key !== own && (!(own || user) || confirm(describeReplacement(key, own)));
  if (isTaken) useKey(key);
  return isTaken;
}

/** Keys have visible ASCII characters only; the browser would not send others. */
const isKey = (key) => /^[!-~]+$/.test(key);

function describeReplacement(key, own) {
  const present = own ? `your key ${shorten(own)}` : "your sign-in";
  return `This link contains the API key ${shorten(key)}. Use it in this tab instead of ${present}? What you add then belongs to the groups of that key.`;
}

const shorten = (key) => `${key.slice(0, PREFIX_CHARS)}…`;

function showUsedKey() {
  const place = document.getElementById("used-key");
  if (!place) return;
  place.hidden = !readKey();
  place.textContent = `Key ${shorten(readKey())}`;
}

function keepUser() {
  if (user) sessionStorage.setItem("user", user);
}

/** Once a user has signed out, remove what the browser kept of them. */
function forgetOthers() {
  for (const entry of Object.keys(localStorage)) {
    if (entry.startsWith("thread ") && entry !== `thread user ${user}`) localStorage.removeItem(entry);
  }
  const before = sessionStorage.getItem("user");
  if (before && before !== user) sessionStorage.clear();
  keepUser();
}

forgetOthers();
takeKeyOfAddress();
showUsedKey();
window.addEventListener("hashchange", () => takeKeyOfAddress() && location.reload());
