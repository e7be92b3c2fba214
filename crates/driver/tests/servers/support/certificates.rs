//! An authority, a server certificate that it signed, and another, unknown authority.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Writes `ca.pem`, `other-ca.pem`, `server.pem` with `server.key`, for 127.0.0.1 and
    /// db.example, and a client's `client.pem` with `client.key`.
    pub(crate) fn make(folder: &Path) -> Self {
        let certificates = Self { folder: folder.to_owned() };
        let (ca, ca_pem) = authority("truetps test");
        certificates.write("ca.pem", &ca_pem);
        certificates.write("other-ca.pem", &authority("truetps other").1);
        let key = KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned(), "db.example".to_owned()];
        let server = CertificateParams::new(names).unwrap().signed_by(&key, &ca).unwrap();
        certificates.write("server.pem", &server.pem());
        certificates.write("server.key", &key.serialize_pem());
        let key = KeyPair::generate().unwrap();
        let client = CertificateParams::new(vec!["client".to_owned()])
            .unwrap()
            .signed_by(&key, &ca)
            .unwrap();
        certificates.write("client.pem", &client.pem());
        certificates.write("client.key", &key.serialize_pem());
        certificates
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// `ca=…` of a DSN.
    pub(crate) fn ca(&self, name: &str) -> String {
        format!("ca={}", self.path(name).display())
    }

    /// `cert=…&key=…` of a DSN.
    pub(crate) fn client(&self) -> String {
        format!(
            "cert={}&key={}",
            self.path("client.pem").display(),
            self.path("client.key").display()
        )
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        // The server may run as another user than the test.
        fs::set_permissions(self.path(name), Permissions::from_mode(0o644)).unwrap();
    }
}

fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let pem = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), pem)
}
