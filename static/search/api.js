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
  const response = await open(path, parameters, signal, { Accept: "application/json" });
  const body = await response.json().catch(() => null);
  if (body !== null) return body;
  throw new ApiError(response.status, "The service's answer was cut off.");
}

/** The response where it is a good one; what it is not is thrown. */
export async function open(path, parameters, signal, headers) {
  const url = new URL(API + path, location.href);
  url.search = new URLSearchParams(parameters);
  const key = readKey();
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  let response;
  try {
    response = await fetch(url, {
      headers: { ...headers, ...authorization },
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message)) {
      throw new ApiError(401, "This cannot be a key: it holds characters that no key has.");
    }
    throw new ApiError(0, "The service cannot be reached; it may be starting again.");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ApiError(
    response.status,
    sentencesOf(body) || `The service answered with status ${response.status}.`,
  );
}

/** Change something: the answer's body, null where it has none. */
export async function send(method, path, content = undefined) {
  const key = readKey();
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    ...(key ? { Authorization: `Bearer ${key}` } : { "X-CSRFToken": readCookie("csrftoken") }),
  };
  let response;
  try {
    const body = content === undefined ? undefined : JSON.stringify(content);
    response = await fetch(new URL(API + path, location.href), { method, headers, body });
  } catch {
    throw new ApiError(0, "The service cannot be reached; it may be starting again.");
  }
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  throw new ApiError(
    response.status,
    sentencesOf(body) || `The service answered with status ${response.status}.`,
  );
}

function readCookie(name) {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? "";
}

/** What an error's body says to people. */
function sentencesOf(body) {
  const said = [body?.detail];
  if (body?.allowed?.length) said.push(`Allowed: ${body.allowed.join(", ")}.`);
  said.push(body?.fix);
  return said.filter((part) => typeof part === "string").join(" ");
}
