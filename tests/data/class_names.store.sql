PRAGMA application_id = 1397637456;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE archives (node INTEGER PRIMARY KEY REFERENCES nodes, data BLOB NOT NULL);
CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO "blobs" VALUES('0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543',X'89504E47');
INSERT INTO "blobs" VALUES('315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027',X'25504446');
INSERT INTO "blobs" VALUES('823ceb99fcef5252333ede1b2202341c3b287b6d47571963e6b0ddf393a24f82',X'89504E470D0A');
CREATE TABLE branches (
  conversation INTEGER NOT NULL REFERENCES conversations,
  name TEXT NOT NULL,
  leaf INTEGER REFERENCES nodes,
  revision INTEGER NOT NULL,
  model TEXT NOT NULL,
  PRIMARY KEY (conversation, name)
) WITHOUT ROWID;
INSERT INTO "branches" VALUES(1,'main',4,1,'claude-opus-4-8');
CREATE TABLE conversations (
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  agent TEXT NOT NULL,
  format TEXT NOT NULL,
  created TEXT NOT NULL,
  branch TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  UNIQUE (name, agent)
);
INSERT INTO "conversations" VALUES(1,'first','main','anthropic','2026-11-30T22:21:37.335Z','main','');
CREATE TABLE labels (
  conversation INTEGER NOT NULL REFERENCES conversations,
  name TEXT NOT NULL,
  node INTEGER NOT NULL REFERENCES nodes,
  note TEXT NOT NULL,
  PRIMARY KEY (conversation, name)
) WITHOUT ROWID;
INSERT INTO "labels" VALUES(1,'here',4,'');
CREATE TABLE nodes (
  seq INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversations,
  id TEXT NOT NULL,
  parent INTEGER REFERENCES nodes,
  depth INTEGER NOT NULL,
  jump INTEGER NOT NULL,
  checkpoint INTEGER REFERENCES nodes,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  time TEXT NOT NULL,
  body TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  UNIQUE (conversation, id)
);
INSERT INTO "nodes" VALUES(1,1,'a163f872e597',NULL,0,1,NULL,'message','user','2026-11-30T22:21:37.335Z','{"role": "user", "parts": [{"is": "Text", "text": "read the log"}, {"is": "Image", "media_type": "image/png", "data": "sha256:823ceb99fcef5252333ede1b2202341c3b287b6d47571963e6b0ddf393a24f82"}, {"is": "File", "name": "a.pdf", "media_type": "application/pdf", "data": "sha256:315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027", "text": ""}]}','');
INSERT INTO "nodes" VALUES(2,1,'4b007a1db216',1,1,1,NULL,'message','assistant','2026-11-30T22:21:37.335Z','{"role": "assistant", "parts": [{"is": "Reasoning", "text": "the log first"}, {"is": "Text", "text": "reading"}, {"is": "ToolCall", "id": "c1", "name": "read", "arguments": "{\"path\": \"log.txt\"}"}]}','');
INSERT INTO "nodes" VALUES(3,1,'7942a2a8de12',2,2,2,NULL,'message','tool','2026-11-30T22:21:37.335Z','{"role": "tool", "parts": [{"is": "ToolResult", "call_id": "c1", "content": [{"is": "Text", "text": "line 1\nline 2"}, {"is": "Image", "media_type": "image/png", "data": "sha256:0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543"}]}]}','');
INSERT INTO "nodes" VALUES(4,1,'34924aebae46',3,3,1,NULL,'message','assistant','2026-11-30T22:21:37.335Z','{"role": "assistant", "parts": [{"is": "Opaque", "kind": "server_tool", "json": "{\"type\": \"server_tool\"}"}, {"is": "Text", "text": "done"}]}','');
CREATE INDEX nodes_in_order ON nodes (conversation, seq, kind);
COMMIT;
