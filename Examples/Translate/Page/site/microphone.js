// In the thread of the sound: hands on what the microphone hears, in parts of 80 milliseconds.

registerProcessor("microphone", class extends AudioWorkletProcessor {
  part = new Float32Array(1280);
  filled = 0;

  process([[samples]]) {
    for (const sample of samples ?? []) {
      this.part[this.filled] = sample;
      this.filled += 1;
      if (this.filled === this.part.length) {
        this.port.postMessage(this.part.slice());
        this.filled = 0;
      }
    }
    return true;
  }
});
