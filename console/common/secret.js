/* The panel around settings/secret.html: what is shown only once, to be copied. */

import { $ } from "./dom.js";

export function showSecret(text) {
  $("secret").textContent = text;
  $("copied").textContent = "";
  $("made").hidden = false;
  $("made-heading").focus();
}

$("copy").addEventListener("click", async () => {
  const isCopied = await navigator.clipboard?.writeText($("secret").textContent).then(
    () => true,
    () => false,
  );
  $("copied").textContent = isCopied ? "Copied." : "Select it and copy it by hand: this browser does not allow it here.";
});
