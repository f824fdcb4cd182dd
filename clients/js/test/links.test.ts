import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BadLink } from "../src/errors.js";
import { httpUrl, parseLink, socketUrl } from "../src/links.js";

describe("links are taken apart", () => {
  const links: [link: string, url: string, session: string | null, code: string | null, token: string | null][] = [
    ["https://play.example/#k3v9mq2w.s3cr-et_1", "https://play.example", "k3v9mq2w", "k3v9mq2w.s3cr-et_1", null],
    ["  http://127.0.0.1:8080/#abc.def\n", "http://127.0.0.1:8080", "abc", "abc.def", null],
    ["wss://play.example/v1/ws#abc.def", "https://play.example", "abc", "abc.def", null],
    ["https://h/tables/#token=aaa.bbb.ccc", "https://h/tables", null, null, "aaa.bbb.ccc"],
    ["https://h/#token=aaa.bbb.ccc&session=s1", "https://h", "s1", null, "aaa.bbb.ccc"],
    ["https://h/#token=aaa.bbb.ccc&session=s%3A1", "https://h", "s:1", null, "aaa.bbb.ccc"],
    ["ws://[::1]:9000", "http://[::1]:9000", null, null, null],
    ["HTTPS://h/", "https://h", null, null, null],
  ];
  for (const [link, url, session, code, token] of links) {
    test(link.trim(), () => assert.deepEqual(parseLink(link), { url, session, code, token }));
  }
});

describe("a bad link says what is wrong", () => {
  const bad: [link: string, why: RegExp][] = [
    ["", /empty/],
    ["play.example/#abc.def", /starts with http/],
    ["ftp://h/#abc.def", /starts with http/],
    ["constructor://h/#abc.def", /starts with http/],
    ["https:///#abc.def", /names no server/],
    ["https://:80/#abc.def", /names no server/],
    ["https://h:port/#abc.def", /not a link/],
    ["https://me:secret@h/#abc.def", /no user name/],
    ["https://h/#abcdef", /cut off/],
    ["https://h/#abc.", /cut off/],
    ["https://h/#abc.de f", /cut off/],
    ["https://h/#token=", /holds no token/],
    ["https://h/#token=a b", /holds no token/],
    ["https://h/#token=%E0%A4%A", /cut off/],
    ["https://h/#token=abc&mood=1", /unknown: mood/],
    ["https://h/#session=abc", /holds no token/],
    ["https://h/#token=abc&session=a/b", /none can have/],
  ];
  for (const [link, why] of bad) {
    test(link, () =>
      assert.throws(
        () => parseLink(link),
        (error) => error instanceof BadLink && why.test(error.text),
      ),
    );
  }
});

test("addresses of a server are all the same server", () => {
  for (const url of ["http://h:1", "ws://h:1/", "http://h:1/v1/ws", "ws://h:1/v1/ws/", "http://h:1/#abc.def"]) {
    assert.equal(socketUrl(url), "ws://h:1/v1/ws");
    assert.equal(httpUrl(url), "http://h:1");
  }
  assert.equal(socketUrl("https://h/base?near=abc"), "wss://h/base/v1/ws?near=abc");
});
