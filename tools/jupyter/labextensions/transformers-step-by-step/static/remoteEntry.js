/* A small extension of JupyterLab, loaded by `make lab` alone: pictures get their
   alternative text, and the pages a style sheet. JupyterLab's own image renderer does the
   drawing. The object at the end is what JupyterLab expects of a built extension. */

(() => {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("style.css", document.currentScript.src);
  document.head.append(style);

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
