#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keys for signing update bundles: a development authority and a signer below build/keys, made once. A release sets
# WEIR_SIGNING_CERT, WEIR_SIGNING_KEY (a file or a PKCS#11 URI) and WEIR_KEYRING instead, and no key comes near the build.

set -euo pipefail

folder=${1:?usage: keys.sh FOLDER}
[ -e "$folder/signer.key" ] && exit 0
mkdir -p "$folder"
chmod 700 "$folder"

openssl req -x509 -newkey rsa:3072 -nodes -sha256 -days 7300 -subj "/O=Weir/CN=Weir development bundles" \
	-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
	-keyout "$folder/authority.key" -out "$folder/keyring.pem" 2>/dev/null
openssl req -newkey rsa:3072 -nodes -sha256 -subj "/O=Weir/CN=Weir development signer" \
	-keyout "$folder/signer.key" -out "$folder/signer.csr" 2>/dev/null
openssl x509 -req -sha256 -days 3650 -in "$folder/signer.csr" -CA "$folder/keyring.pem" -CAkey "$folder/authority.key" \
	-CAcreateserial -out "$folder/signer.pem" \
	-extfile <(printf 'basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=emailProtection\n') \
	2>/dev/null
rm -f "$folder/signer.csr"
