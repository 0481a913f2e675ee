/* A small extension of JupyterLab, loaded by `make lab` alone: pictures get their
   alternative text, sliders their names, and the pages a style sheet. JupyterLab's own
   image renderer does the drawing. The object at the end is what JupyterLab expects of a
   built extension. */

(() => {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("style.css", document.currentScript.src);
  document.head.append(style);

  // ipywidgets gives the handle of a slider no name, and for a value the number of its
  // place; a row of radio buttons is no group. What they lack stands beside them.
  function name(widget) {
    const part = kind => widget.querySelector(kind);
    const text = kind => part(kind)?.textContent ?? "";
    const handle = part(".noUi-handle");
    handle?.setAttribute("aria-label", text(".widget-label"));
    handle?.setAttribute("aria-valuetext", text(".widget-readout"));
    const group = part(".widget-radio-box");
    group?.setAttribute("role", "radiogroup");
    group?.setAttribute("aria-label", text(".widget-label"));
  }

  const nameless = ".widget-slider, .widget-radio";
  new MutationObserver(changes => {
    for (const place of new Set(changes.map(change => change.target))) {
      const around = place.closest(nameless);
      if (around) name(around);
      place.querySelectorAll(nameless).forEach(name);
    }
  }).observe(document.documentElement, { childList: true, subtree: true });

  let shared; // the modules of JupyterLab: name -> version -> { get }

  async function load(name) {
    const [module] = Object.values(shared[name]);
    return (await module.get())();
  }

  async function images() {
    const { RenderedImage } = await load("@jupyterlab/rendermime");

    class DescribedImage extends RenderedImage {
      async render(model) {
        await super.render(model);
        this.node.querySelector("img").alt = model.metadata[this.mimeType]?.alt ?? "";
      }
    }

    return {
      id: "transformers-step-by-step:images",
      rendererFactory: {
        safe: true,
        mimeTypes: ["image/png"],
        createRenderer: options => new DescribedImage(options),
      },
      rank: 80, // before JupyterLab's own, which has 90
      dataType: "string",
    };
  }

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB["transformers-step-by-step"] = {
    init: scope => {
      shared = scope;
    },
    get: async () => {
      const extension = await images();
      return () => ({ __esModule: true, default: extension });
    },
  };
})();
