/* Requests to the API, with the user's key or session. */

import { readKey } from "./key.js";

const API = document.documentElement.dataset.api;

/** The address of a page of this site. */
export function pageAddress(path, parameters) {
  const url = new URL(`../../${path}`, new URL(API, location.href));
  url.search = new URLSearchParams(parameters);
  return url.href;
}

export class ApiError extends Error {
  constructor(status, message, { code, detail } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.detail = detail; // without what programs can do about it
  }
}

export async function getJson(path, parameters = {}, signal = undefined) {
  const response = await request("GET", path, { parameters, signal });
  const body = await response.json().catch(() => null);
  if (body !== null) return body;
  throw new ApiError(response.status, "The service's response was incomplete.");
}

/** All rows of a list, which the API gives in pages. */
export async function getAll(path, parameters) {
  const all = [];
  for (;;) {
    const { results, count } = await getJson(path, { ...parameters, limit: 100, offset: all.length });
    all.push(...results);
    if (results.length === 0 || all.length >= count) return all;
  }
}

/** Send a request that changes something, with JSON or a FormData; return the JSON body, or null if it has none. */
export async function send(method, path, content = undefined) {
  const response = await request(method, path, { content });
  return response.json().catch(() => null);
}

/** Send a request; return the response if its status is 2xx, else throw an ApiError. */
export async function request(method, path, { parameters = {}, signal, headers, content } = {}) {
  const url = new URL(API + path, location.href);
  url.search = new URLSearchParams(parameters);
  const key = readKey();
  const isJson = content !== undefined && !(content instanceof FormData);
  let response;
  try {
    response = await fetch(url, {
      method,
      body: isJson ? JSON.stringify(content) : content,
      headers: {
        Accept: "application/json",
        ...(isJson && { "Content-Type": "application/json" }),
        ...(key ? { Authorization: `Bearer ${key}` } : { "X-CSRFToken": readCookie("strata_csrftoken") || readCookie("csrftoken") }),
        ...headers,
      },
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message)) {
      throw new ApiError(401, "This is not an API key: it contains invalid characters.");
    }
    throw new ApiError(0, "The service cannot be reached; it may be restarting.");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ApiError(response.status, errorMessage(body) || `The service answered with status ${response.status}.`, body ?? {});
}

function readCookie(name) {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? "";
}

/** The readable text of an API error body. */
function errorMessage(body) {
  const isFieldNamed = !body?.field || body.detail?.includes(body.field.split(".").at(-1));
  const parts = [isFieldNamed ? body?.detail : `${body.field}: ${body.detail}`];
  if (body?.allowed?.length) parts.push(`Allowed: ${body.allowed.join(", ")}.`);
  parts.push(body?.fix);
  return parts.filter((part) => typeof part === "string").join(" ");
}
