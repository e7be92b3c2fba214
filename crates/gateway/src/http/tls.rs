//! Certificate and key of HTTPS.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::TlsFilesConfig;

const KEY_BYTES_MAX: u64 = 1 << 20;
const OTHERS: u32 = 0o007;
const GROUP: u32 = 0o070;

/// A certificate or key that cannot be used.
#[derive(Debug)]
pub(crate) struct TlsSetupError {
    pub(crate) path: PathBuf,
    pub(crate) problem: String,
}

pub(crate) struct TlsSetup {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) warning: Option<String>,
}

impl TlsSetup {
    pub(crate) fn read(files: &TlsFilesConfig) -> Result<Self, TlsSetupError> {
        let chain = CertificateDer::pem_file_iter(&files.cert)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(&files.cert, &error))?;
        if chain.is_empty() {
            return Err(wrong(&files.cert, &"there is no certificate in it"));
        }
        let (key, warning) = read_key(&files.key)?;
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&files.key, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), warning })
    }
}

/// Mode and text are read from the same open file.
fn read_key(path: &Path) -> Result<(PrivateKeyDer<'static>, Option<String>), TlsSetupError> {
    let file = File::open(path).map_err(|error| wrong(path, &error))?;
    let mode = file.metadata().map_err(|error| wrong(path, &error))?.permissions().mode();
    let name = path.display();
    if mode & OTHERS != 0 {
        let mode = mode & 0o777;
        return Err(wrong(
            path,
            &format!("all users of this host may read the key (mode {mode:o}): chmod o= {name}"),
        ));
    }
    let warning = (mode & GROUP != 0).then(|| format!("{name}: its group may read the key"));
    let mut pem = Vec::new();
    let read = file.take(KEY_BYTES_MAX).read_to_end(&mut pem);
    read.map_err(|error| wrong(path, &error))?;
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| wrong(path, &error))?;
    Ok((key, warning))
}

fn wrong(path: &Path, problem: &dyn Display) -> TlsSetupError {
    TlsSetupError { path: path.to_owned(), problem: problem.to_string() }
}
