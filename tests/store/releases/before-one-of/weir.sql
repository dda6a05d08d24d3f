-- SPDX-License-Identifier: Apache-2.0
PRAGMA application_id = 1466263922;
PRAGMA user_version = 4;
BEGIN TRANSACTION;
CREATE TABLE candidate (
    owner TEXT PRIMARY KEY,
    base_revision INTEGER NOT NULL REFERENCES revision (number),
    created_at_ms INTEGER NOT NULL,
    last_serial INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "candidate" VALUES('anna',2,1795418689537,4);
CREATE TABLE candidate_change (
    owner TEXT NOT NULL REFERENCES candidate (owner) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    serial INTEGER NOT NULL,
    seen_revision INTEGER,
    body TEXT, sum INTEGER NOT NULL DEFAULT 0, staged_at_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "candidate_change" VALUES('anna','interface','both',2,NULL,'{"id":"both","vlan":{"parent":"eth1","id":300,"protocol":"802.1Q"},"vrf_table":5}',2221831214271804409,1795418689537);
INSERT INTO "candidate_change" VALUES('anna','interface','eth1',3,1,'{"id":"eth1","mtu":1400}',5972246286380915584,1795418689537);
INSERT INTO "candidate_change" VALUES('anna','interface','later',1,NULL,'{"id":"later","vlan":{"parent":"eth1","id":200,"protocol":"802.1Q"}}',-5490589852382886629,1795418689537);
INSERT INTO "candidate_change" VALUES('anna','queue-type','gentle',4,1,'{"id":"gentle","type":"sfq"}',-3772267789966308149,1795418689537);
CREATE TABLE history (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    complete_from INTEGER NOT NULL
, ended_bytes INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "history" VALUES(1,0,315);
CREATE TABLE object_version (
    serial INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    from_revision INTEGER NOT NULL REFERENCES revision (number),
    to_revision INTEGER REFERENCES revision (number),
    name TEXT NOT NULL,
    parent TEXT,
    position INTEGER NOT NULL,
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    max_limit_upload_bps INTEGER NOT NULL,
    max_limit_download_bps INTEGER NOT NULL,
    search TEXT NOT NULL,
    body TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
    CHECK (to_revision > from_revision)
) STRICT;
INSERT INTO "object_version" VALUES(1,'interface','eth0',1,NULL,'eth0',NULL,0,0,0,0,'eth0
eth0
','{"id":"eth0","role":"wan","addressing":"dhcp","overhead_bytes":18}',-8186297574573747625);
INSERT INTO "object_version" VALUES(2,'interface','eth1',1,NULL,'eth1',NULL,0,0,0,0,'eth1
eth1
','{"id":"eth1","mtu":1500,"unknown":"drop","reverse_path":"strict"}',-3256535455143668949);
INSERT INTO "object_version" VALUES(3,'interface','acme',1,2,'acme',NULL,0,0,0,0,'acme
acme
','{"id":"acme","role":"lan","addresses":["10.20.0.1/24"],"overhead_bytes":22,"vlan":{"parent":"eth1","id":100,"protocol":"802.1Q"}}',-3458552460438803622);
INSERT INTO "object_version" VALUES(4,'interface','blue',1,NULL,'blue',NULL,0,0,0,0,'blue
blue
','{"id":"blue","vrf_table":0}',-2401273502947042127);
INSERT INTO "object_version" VALUES(5,'interface','red',1,NULL,'red',NULL,0,1,0,0,'red
red
','{"id":"red","vrf_table":77,"disabled":true}',-7624577442128156041);
INSERT INTO "object_version" VALUES(6,'queue-type','gentle',1,NULL,'gentle',NULL,0,0,0,0,'gentle
gentle
for guests','{"id":"gentle","type":"pcq","options":{"pcq-classifier":"dst-address","pcq-rate":"2M"},"comment":"for guests"}',-5020005165184979945);
INSERT INTO "object_version" VALUES(7,'interface','acme',2,NULL,'acme',NULL,0,0,0,0,'acme
acme
','{"id":"acme","role":"lan","addresses":["10.20.0.1/24"],"domain":3,"vlan":{"parent":"eth1","id":100,"protocol":"802.1ad"}}',-7972511864851508134);
INSERT INTO "object_version" VALUES(8,'interface','inner',2,NULL,'inner',NULL,0,0,0,0,'inner
inner
two tags','{"id":"inner","description":"two tags","vlan":{"parent":"acme","id":7,"protocol":"802.1Q"},"vrf":"blue"}',8043100426946310826);
INSERT INTO "object_version" VALUES(9,'static-route','r1',2,NULL,'10.0.0.0/8',NULL,0,0,0,0,'r1
10.0.0.0/8
','{"id":"r1","destination":"10.0.0.0/8","blackhole":true}',-2140660068736256734);
INSERT INTO "object_version" VALUES(10,'firewall','firewall',2,NULL,'firewall',NULL,0,0,0,0,'firewall
firewall
','{"id":"firewall","allowed_wan_tcp_ports":[443]}',-1186482222532710162);
INSERT INTO "object_version" VALUES(11,'tuning','tuning',2,NULL,'tuning',NULL,0,0,0,0,'tuning
tuning
','{"id":"tuning","overrides":{"fq.horizon":"1"}}',2689623004149914226);
INSERT INTO "object_version" VALUES(12,'queue','q1',2,NULL,'anna',NULL,0,0,1000000,5000000,'q1
anna

10.20.0.7/32','{"id":"q1","name":"anna","target":["10.20.0.7/32"],"max_limit_bps":{"upload":1000000,"download":5000000}}',-8616330938674489569);
INSERT INTO "object_version" VALUES(13,'queue','q2',2,NULL,'guests',NULL,0,0,0,0,'q2
guests

acme','{"id":"q2","name":"guests","target":["acme"],"queue_type":{"upload":"gentle","download":"default-small"}}',2490219960340728324);
CREATE TABLE pending_confirmation (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    revision INTEGER NOT NULL REFERENCES revision (number),
    base_revision INTEGER NOT NULL REFERENCES revision (number),
    window_s INTEGER NOT NULL CHECK (window_s > 0),
    deadline_wall_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    deadline_boottime_ms INTEGER NOT NULL,
    token_hash BLOB NOT NULL,
    author TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
, sum INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE revision (
    number INTEGER PRIMARY KEY CHECK (number >= 0),
    kind TEXT NOT NULL CHECK (kind IN ('initial', 'commit', 'restore', 'rollback')),
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    restores INTEGER REFERENCES revision (number),
    changes INTEGER NOT NULL CHECK (changes >= 0)
, content INTEGER NOT NULL DEFAULT 0, digest BLOB NOT NULL DEFAULT x'') STRICT;
INSERT INTO "revision" VALUES(0,'initial','weir','','empty configuration',1795418689000,NULL,0,0,X'45C7DE481D8188DB824DC5B171DBF4B4');
INSERT INTO "revision" VALUES(1,'commit','anna','192.0.2.9','',1795418689529,NULL,6,6946246547002704923,X'3DF37973403B78BF8B37E17B225B2D77');
INSERT INTO "revision" VALUES(2,'commit','anna','192.0.2.9','',1795418689533,NULL,7,3711757304083497322,X'CA425065104B34B2AF9387CBDC05D1C6');
CREATE TABLE target_now (
    prefix BLOB NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (prefix, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "target_now" VALUES(X'04200A140007','q1');
CREATE UNIQUE INDEX object_version_start ON object_version (kind, id, from_revision);
CREATE UNIQUE INDEX object_now ON object_version (kind, id) WHERE to_revision IS NULL;
CREATE INDEX object_version_from ON object_version (from_revision);
CREATE INDEX object_version_to ON object_version (to_revision) WHERE to_revision IS NOT NULL;
CREATE INDEX object_now_position ON object_version (kind, position, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_parent ON object_version (kind, parent, position, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_name ON object_version (kind, name, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_upload ON object_version (kind, max_limit_upload_bps, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_download ON object_version (kind, max_limit_download_bps, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_search ON object_version (kind, search) WHERE to_revision IS NULL;
CREATE INDEX object_now_disabled ON object_version (kind, position, id)
WHERE to_revision IS NULL AND disabled = 1;
COMMIT;
