/**
 * What this package needs of a WebSocket: the browser's, Node's own (22 and newer), or the one of the `ws` package.
 */
export interface SocketLike {
  binaryType: string;
  readonly readyState: number;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

export type SocketMaker = new (url: string, protocols: string[]) => SocketLike;

/** End a connection without waiting for the other side, where that can be done (`ws` can; a browser gives up by itself). */
export function cut(socket: SocketLike, code: number): void {
  socket.onopen = socket.onmessage = socket.onclose = null;
  socket.onerror = () => {}; // closing one that never opened is an error to some
  try {
    socket.close(code);
  } catch {
    // it was closed already
  }
  const ends = (socket as { terminate?: () => void }).terminate;
  if (socket.readyState !== 3 && typeof ends === "function") ends.call(socket);
}
