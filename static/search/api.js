/* Asking the API, with the reader's key or session. */

const API = document.documentElement.dataset.api;

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export function readKey() {
  return sessionStorage.getItem("key") ?? "";
}

/** A key in the address bar's fragment is taken into this tab and out of sight. */
export function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key === null) return false;
  sessionStorage.setItem("key", key.trim());
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

export async function ask(path, parameters = {}, signal = undefined) {
  const url = new URL(API + path, location.href);
  url.search = new URLSearchParams(parameters);
  const key = readKey();
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(url, { headers, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message)) {
      throw new ApiError(401, "This cannot be a key: it holds characters that no key has.");
    }
    throw new ApiError(0, "The service cannot be reached; it may be starting again.");
  }
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  throw new ApiError(
    response.status,
    sentencesOf(body) || `The service answered with status ${response.status}.`,
  );
}

/** What an error's body says to people. */
function sentencesOf(body) {
  const said = [body?.detail];
  if (body?.allowed?.length) said.push(`Allowed: ${body.allowed.join(", ")}.`);
  said.push(body?.fix);
  return said.filter((part) => typeof part === "string").join(" ");
}
