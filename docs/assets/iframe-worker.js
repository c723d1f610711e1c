// Search in a site that is opened from a disk: browsers start no worker from a file, so a hidden frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      window.addEventListener("message", event => {
        if (event.source !== this.frame.contentWindow) return
        const copy = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(copy)
        if (this.onmessage) this.onmessage(copy)
      })
      this.frame.srcdoc = `<script>
        window.postMessage = data => parent.postMessage(data, "*")
        window.importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise(resolve => {
          const script = document.createElement("script")
          script.src = url
          script.onload = script.onerror = resolve
          document.head.append(script)
        })), Promise.resolve())
      </script><script src="${new URL(url, document.baseURI)}"></script>`
      this.frame.addEventListener("load", () => {
        this.loaded = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      })
    }
    postMessage(data) {
      if (!this.loaded) return void this.waiting.push(data)
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data, source: window }))
    }
    terminate() { this.frame.remove() }
  }
}
