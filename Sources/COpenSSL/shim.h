// The parts of OpenSSL that the rooms Cryptography (libcrypto) and HTTPCore (libssl) use. What OpenSSL offers as macros
// stands here as functions, since macros with arguments are not imported.
#pragma once
#include <openssl/evp.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>

static inline int copenssl_set_min_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline int copenssl_set_max_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}
static inline int copenssl_set_groups(SSL_CTX *context, const char *list) {
    return SSL_CTX_set1_groups_list(context, list);
}
static inline void copenssl_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}
static inline void copenssl_set_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }
static inline void copenssl_set_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
        | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); // tickets only: nothing per client is kept
}
static inline void copenssl_set_server_name_callback(
    SSL_CTX *context, int (*callback)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}
static inline int copenssl_send_server_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }
static inline int copenssl_keypair_selection(void) { return EVP_PKEY_KEYPAIR; }
static inline int copenssl_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }
// The numbers of an RSA key, in the order of RFC 8017 A.1.2, as libcrypto's parameters are called.
static inline const char *copenssl_rsa_parameter(int number) {
    static const char *const names[] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
        OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
        OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    return names[number];
}
// How many certificates the peer sent, its own first (the client's side), and the one at an index (not to be freed).
static inline int copenssl_peer_chain_count(const SSL *ssl) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    return chain ? sk_X509_num(chain) : 0;
}
static inline X509 *copenssl_peer_chain_entry(const SSL *ssl, int index) {
    return sk_X509_value(SSL_get_peer_cert_chain(ssl), index);
}
// Verifies a server's chain, its own certificate first, against the store at this time: 0 or an X509_V_ERR_ code, -1 without memory.
static inline int copenssl_verify_server(X509_STORE *store, X509 *const *chain, size_t count, time_t time) {
    STACK_OF(X509) *others = sk_X509_new_null();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int result = -1;
    if (others && context && count > 0) {
        int complete = 1;
        for (size_t index = 1; index < count; index++) complete = complete && sk_X509_push(others, chain[index]) > 0;
        if (complete && X509_STORE_CTX_init(context, store, chain[0], others) == 1) {
            X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
            X509_STORE_CTX_set_time(context, 0, time);
            result = X509_verify_cert(context) == 1 ? 0 : X509_STORE_CTX_get_error(context);
        }
    }
    X509_STORE_CTX_free(context);
    sk_X509_free(others);
    return result;
}
