// A phone whose blinding, unblinding and verification are Cloudflare's CIRCL (package blindrsa), unmodified, as Debian packages it
// (golang-github-cloudflare-circl-dev 1.3.1). Around it stand Go's own HTTP client, ASN.1 reader and base64; only the structures of
// RFC 9577 and RFC 9578 (challenge, token, request) are put together here.
//
//	foreign_phone URL [USER-TOKEN]
//
// fetches the directory and the user's key, obtains a token, spends it and spends it again, and prints one line of JSON.
// scripts/setup builds it where Go and the package can be had: GO111MODULE=off GOPATH=/usr/share/gocode go build.
package main

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/cloudflare/circl/blindsign/blindrsa"
)

type directory struct {
	RequestURI string `json:"issuer-request-uri"`
	Keys       []struct {
		Type uint16 `json:"token-type"`
		Key  string `json:"token-key"`
	} `json:"token-keys"`
}

type results struct {
	Library       string `json:"library"`
	Keys          int    `json:"keys"`
	IsListed      bool   `json:"isListed"`
	Issued        int    `json:"issued"`
	MediaType     string `json:"mediaType"`
	IsVerified    bool   `json:"isVerified"`
	Spent         int    `json:"spent"`
	SpentAgain    int    `json:"spentAgain"`
	IsChallenged  bool   `json:"isChallenged"`
	AlteredStatus int    `json:"alteredStatus"`
}

type phone struct {
	base *url.URL
	user string
}

func (p phone) send(method, reference, authorization string, fields map[string]string, body []byte) (*http.Response, []byte, error) {
	target, err := p.base.Parse(reference)
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequest(method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	for name, value := range fields {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response, content, err
}

// publicKey reads a SubjectPublicKeyInfo with the RSASSA-PSS identifier, which crypto/x509 does not take.
func publicKey(spki []byte) (*rsa.PublicKey, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	rest, err := asn1.Unmarshal(spki, &info)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 || !info.Algorithm.Algorithm.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}) {
		return nil, errors.New("not an RSASSA-PSS key")
	}
	return x509.ParsePKCS1PublicKey(info.Key.RightAlign())
}

func (p phone) spend(token []byte) (*http.Response, error) {
	authorization := "PrivateToken token=" + base64.URLEncoding.EncodeToString(token)
	fields := map[string]string{"User-Identifier": "F0E1D2C3-0000-4000-8000-00000000FACE"}
	response, _, err := p.send("POST", "/config", authorization, fields, nil)
	return response, err
}

// tokenInput is what is signed: type, nonce, digest of the challenge (no context, no origin), key id.
func (p phone) tokenInput(keyID [32]byte) ([]byte, error) {
	name := p.base.Hostname()
	challenge := binary.BigEndian.AppendUint16([]byte{0, 2}, uint16(len(name)))
	challenge = append(append(challenge, name...), 0, 0, 0)
	digest := sha256.Sum256(challenge)
	nonce := make([]byte, 32)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{{0, 2}, nonce, digest[:], keyID[:]}, nil), nil
}

func (p phone) obtain(result *results) ([]byte, error) {
	_, content, err := p.send("GET", "/.well-known/private-token-issuer-directory", "", nil, nil)
	if err != nil {
		return nil, err
	}
	var listed directory
	if err := json.Unmarshal(content, &listed); err != nil {
		return nil, err
	}
	result.Keys = len(listed.Keys)
	response, spki, err := p.send("GET", "/token-key-for-user-token", "Bearer "+p.user, nil, nil)
	if err != nil || response.StatusCode != 200 {
		return nil, fmt.Errorf("no key: %v %v", response, err)
	}
	for _, entry := range listed.Keys {
		key, err := base64.RawURLEncoding.DecodeString(entry.Key)
		result.IsListed = result.IsListed || (err == nil && entry.Type == 2 && bytes.Equal(key, spki))
	}
	key, err := publicKey(spki)
	if err != nil {
		return nil, err
	}
	keyID := sha256.Sum256(spki)
	input, err := p.tokenInput(keyID)
	if err != nil {
		return nil, err
	}
	verifier := blindrsa.NewRSAVerifier(key, crypto.SHA384)
	blinded, state, err := verifier.Blind(rand.Reader, input)
	if err != nil {
		return nil, err
	}
	request := append([]byte{0, 2, keyID[31]}, blinded...)
	fields := map[string]string{"Content-Type": "application/private-token-request"}
	response, blindSignature, err := p.send("POST", listed.RequestURI, "Bearer "+p.user, fields, request)
	if err != nil {
		return nil, err
	}
	result.Issued, result.MediaType = response.StatusCode, response.Header.Get("Content-Type")
	signature, err := state.Finalize(blindSignature)
	if err != nil {
		return nil, err
	}
	result.IsVerified = verifier.Verify(input, signature) == nil
	return append(input, signature...), nil
}

func run() (results, error) {
	result := results{Library: "circl/blindsign/blindrsa"}
	if len(os.Args) < 2 {
		return result, errors.New("usage: foreign_phone URL [USER-TOKEN]")
	}
	base, err := url.Parse(os.Args[1])
	if err != nil {
		return result, err
	}
	p := phone{base: base, user: "AAAA"}
	if len(os.Args) > 2 {
		p.user = os.Args[2]
	}
	token, err := p.obtain(&result)
	if err != nil {
		return result, err
	}
	altered := append([]byte{}, token...)
	altered[2] ^= 1
	steps := []struct {
		token  []byte
		status *int
	}{{altered, &result.AlteredStatus}, {token, &result.Spent}, {token, &result.SpentAgain}}
	for _, step := range steps {
		response, err := p.spend(step.token)
		if err != nil {
			return result, err
		}
		*step.status = response.StatusCode
		result.IsChallenged = len(response.Header.Get("WWW-Authenticate")) > len("PrivateToken challenge=")
	}
	return result, nil
}

func main() {
	result, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := json.Marshal(result)
	fmt.Println(string(line))
}
