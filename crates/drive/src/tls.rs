//! Trust in servers: the roots that browsers trust, and the certificates that the usual variables add, both those of
//! signers and those of servers themselves.
//!
//! Files are read when the first connection needs them, not before; a wrong path is an error that names the path and
//! the variable it came from.

use std::{collections::HashSet, fs, io::Read, path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

use super::options::{ClientOptions, RootSource};
use loopwright_base::error::{Failure, FailureKind, Result};

/// The size of the longest bundle of roots that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Files of a directory of roots that are read at most.
const MAX_FILES: usize = 4096;

/// A TLS configuration that trusts the built-in roots and those of `options`.
pub(super) fn tls_config(options: &ClientOptions) -> Result<ClientConfig, Failure> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let mut trusted = TrustedRoots { roots, added: HashSet::new() };
    let mut read = Vec::new();
    for (variable, source) in &options.roots {
        // Several variables name the same bundle on many systems.
        if !read.contains(&source) {
            match source {
                RootSource::File(path) => trusted.add_file(variable, path)?,
                RootSource::Directory(path) => trusted.add_directory(variable, path)?,
            }
            read.push(source);
        }
    }
    trusted.config()
}

/// The same, without HTTP/2 on offer.
pub(super) fn tls_config_of_http1(options: &ClientOptions) -> Result<ClientConfig, Failure> {
    let mut config = tls_config(options)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A TLS configuration that trusts nobody, for clients that only speak plain HTTP.
pub(super) fn tls_config_without_roots() -> Result<ClientConfig, Failure> {
    TrustedRoots { roots: RootCertStore::empty(), added: HashSet::new() }.config()
}

/// Returns whether a server shows a certificate that is meant to sign others: those that `openssl req -x509` makes are.
pub(super) fn is_signer(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if other.to_string() == "CaUsedAsEndEntity")
}

/// A verifier that also trusts servers that show a certificate of `added` themselves.
#[derive(Debug)]
struct PinnedVerifier {
    inner: Arc<WebPkiServerVerifier>,
    added: HashSet<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        // Who signed it was found last but for the name: a certificate that is out of date fails with another error.
        let only_the_signer = |error: &Error| {
            use CertificateError::{BadSignature, UnknownIssuer};
            is_signer(error) || matches!(error, Error::InvalidCertificate(UnknownIssuer | BadSignature))
        };
        if verified.as_ref().is_err_and(only_the_signer) && self.added.contains(end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Certificates that are trusted.
struct TrustedRoots {
    roots: RootCertStore,
    /// Certificates of the roots that a variable added.
    added: HashSet<CertificateDer<'static>>,
}

impl TrustedRoots {
    fn config(self) -> Result<ClientConfig, Failure> {
        let broken = |error: &dyn std::fmt::Display| {
            Failure::new(FailureKind::Internal, format!("TLS can't be set up: {error}"))
        };
        let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| broken(&error))?;
        let builder = if self.added.is_empty() {
            builder.with_root_certificates(self.roots)
        } else {
            let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(self.roots), provider).build();
            let inner = inner.map_err(|error| broken(&error))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(PinnedVerifier { inner, added: self.added }))
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Adds a certificate; false if it is invalid.
    fn add(&mut self, certificate: CertificateDer<'static>) -> bool {
        let is_one = self.roots.add(certificate.clone()).is_ok();
        if is_one {
            self.added.insert(certificate);
        }
        is_one
    }

    fn add_file(&mut self, variable: &str, path: &Path) -> Result<(), Failure> {
        // OpenSSL and requests also take a directory here.
        if path.is_dir() {
            return self.add_directory(variable, path);
        }
        let bytes = read(path).map_err(|error| wrong(variable, path, format_args!("can't be read ({error})")))?;
        let mut added = false;
        for certificate in CertificateDer::pem_slice_iter(&bytes) {
            let certificate =
                certificate.map_err(|error| wrong(variable, path, format_args!("is no PEM ({error})")))?;
            added |= self.add(certificate);
        }
        if added { Ok(()) } else { Err(wrong(variable, path, "holds no certificate")) }
    }

    fn add_directory(&mut self, variable: &str, path: &Path) -> Result<(), Failure> {
        let entries = fs::read_dir(path)
            .map_err(|error| wrong(variable, path, format_args!("can't be read as a directory ({error})")))?;
        for entry in entries.take(MAX_FILES).flatten() {
            // Such directories hold other things too: what is no certificate is passed over. Links by hash point to
            // files of the same directory and would be read twice.
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) && is_hash_link(&name.to_string_lossy()) {
                continue;
            }
            if let Ok(bytes) = read(&entry.path()) {
                for certificate in CertificateDer::pem_slice_iter(&bytes).flatten() {
                    self.add(certificate);
                }
            }
        }
        Ok(())
    }
}

fn wrong(variable: &str, path: &Path, why: impl std::fmt::Display) -> Failure {
    let what = if variable == "SSL_CERT_DIR" { "directories" } else { "a file" };
    let path = path.display();
    let message = format!("{variable} points to {path}, which {why}; set it to {what} of CA certificates in PEM form");
    Failure::new(FailureKind::Usage, message)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether a name is that of an OpenSSL link to a certificate, such as `5ed36f99.0`.
fn is_hash_link(name: &str) -> bool {
    name.split_once('.').is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_by_hash_are_known() {
        assert!(is_hash_link("5ed36f99.0") && is_hash_link("0a775a30.12"));
        assert!(!is_hash_link("ca.pem") && !is_hash_link("5ed36f99.pem") && !is_hash_link("mycompany.0"));
    }
}
