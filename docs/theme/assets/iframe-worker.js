// The search runs in a worker. For a page in a folder, browsers start no worker, so its script runs in a hidden frame.
// The theme looks for a class of this name.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      const send = 'var postMessage = data => parent.postMessage(data, "*")'
      this.inside.document.write(`<script>${send}<\/script><script src="${script}"><\/script>`)
      this.inside.document.close()
      this.ready = new Promise(resolve => this.inside.addEventListener("load", resolve))
      addEventListener("message", ({ source, data }) => {
        if (source === this.inside) this.dispatchEvent(new MessageEvent("message", { data }))
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
