// A page opened as a file may not read other files: results then come without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Names for screen readers that the theme leaves out, or gives twice.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("nav summary"))
    one.setAttribute("aria-label", "Pages below this one");
  for (const one of document.querySelectorAll(".search-button-field"))
    one.removeAttribute("aria-label"); // what it shows is its name
});
