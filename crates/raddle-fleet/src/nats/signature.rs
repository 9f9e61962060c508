//! The coordinator's signature of a test binary: an Ed25519 signature of its hash, by a key as NATS writes them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use data_encoding::HEXLOWER;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::error::{Problem, QueueError};

/// A signature of a binary's hash.
///
/// ```
/// use raddle_fleet::nats::{Signature, SigningKey};
///
/// let (key, digits) = (SigningKey::generate(), "ab".repeat(32));
/// let signature = key.sign(&digits).unwrap();
/// assert!(signature.check(&digits).is_ok());
/// assert!(signature.check(&"cd".repeat(32)).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The public key that belongs to the one which signed.
    pub key: String,
    /// The signature, in hexadecimal digits.
    pub digits: String,
}

impl Signature {
    /// # Errors
    /// If its key did not sign the binary of this hash.
    pub fn check(&self, sha256: &str) -> Result<(), QueueError> {
        let signed = HEXLOWER.decode(self.digits.as_bytes()).ok();
        let key = KeyPair::from_public_key(&self.key).ok();
        let fits = key.zip(signed).is_some_and(|(key, signed)| {
            // A signature of another length is not one: the library takes it apart without looking.
            signed.len() == 64 && key.verify(message(sha256).as_bytes(), &signed).is_ok()
        });
        if fits {
            return Ok(());
        }
        Err(QueueError::new(
            Problem::Refused,
            format!(
                "the run says that the key {} has signed its binary, and that is not so: the run was tampered with, or its \
                 coordinator is broken; the binary was not run",
                self.key
            ),
        ))
    }
}

/// What is signed: not the bare hash, so that no signature made for something else fits.
fn message(sha256: &str) -> String {
    format!("raddle test binary, SHA-256 {sha256}")
}

/// A key that signs binaries.
pub struct SigningKey(KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public_key()).finish()
    }
}

impl SigningKey {
    /// A new key.
    #[must_use]
    pub fn generate() -> Self {
        Self(KeyPair::new_user())
    }

    /// The key whose seed is in a file. If there is no such file, a new key is made and kept there, readable by its owner alone;
    /// then the second is `true`.
    ///
    /// # Errors
    /// If the file cannot be read or written, or has no seed in it.
    pub fn of_file(path: &Path) -> Result<(Self, bool), QueueError> {
        let failed = |error: std::io::Error| {
            QueueError::new(Problem::Refused, format!("{}: {error}", path.display()))
        };
        let unusable = || {
            let text = format!(
                "{}: it has no seed of an nkey, a line that begins with SU; name a file that does not exist to have one made",
                path.display()
            );
            QueueError::new(Problem::Refused, text)
        };
        match fs::read_to_string(path) {
            Ok(text) => {
                let seed = text.lines().map(str::trim).find(|line| line.starts_with('S'));
                let key = seed.and_then(|seed| KeyPair::from_seed(seed).ok());
                key.map(|key| (Self(key), false)).ok_or_else(unusable)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let key = Self::generate();
                let seed = key.0.seed().map_err(|_| unusable())?;
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let mut file = options.open(path).map_err(failed)?;
                writeln!(file, "{seed}").map_err(failed)?;
                Ok((key, true))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// What workers are told to trust.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// Signs a binary by its hash.
    ///
    /// # Errors
    /// If the key cannot sign.
    pub fn sign(&self, sha256: &str) -> Result<Signature, QueueError> {
        let signed = self.0.sign(message(sha256).as_bytes()).map_err(|error| {
            QueueError::new(Problem::Refused, format!("the binary cannot be signed: {error}"))
        })?;
        Ok(Signature { key: self.public_key(), digits: HEXLOWER.encode(&signed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits() -> String {
        "5a".repeat(32)
    }

    #[test]
    fn a_signature_fits_its_key_and_its_binary_alone() {
        let (own, other) = (SigningKey::generate(), SigningKey::generate());
        let signature = own.sign(&digits()).expect("a key can sign");
        assert_eq!(signature.check(&digits()), Ok(()));
        assert!(signature.check(&"5b".repeat(32)).is_err());
        let claimed = Signature { key: other.public_key(), ..signature.clone() };
        let refused = claimed.check(&digits()).expect_err("another key signed");
        assert!(refused.to_string().contains(&other.public_key()), "{refused}");
        for digits_of in ["", "0", "zz", &signature.digits[2..], &"00".repeat(64)] {
            let broken = Signature { digits: digits_of.to_owned(), ..signature.clone() };
            assert!(broken.check(&digits()).is_err(), "{digits_of}");
        }
        let nonsense = Signature { key: "no key".to_owned(), ..signature };
        assert!(nonsense.check(&digits()).is_err());
    }

    #[test]
    fn a_key_is_made_once_and_kept() {
        let name = format!("raddle-signing-key-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&path);
        let (made, is_new) = SigningKey::of_file(&path).expect("a new file");
        let (kept, again) = SigningKey::of_file(&path).expect("a file with a key");
        assert_eq!((made.public_key(), is_new, again), (kept.public_key(), true, false));
        assert_eq!(made.sign(&digits()), kept.sign(&digits()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                fs::metadata(&path).expect("it is there").permissions().mode() & 0o777,
                0o600
            );
        }
        fs::write(&path, "secret\n").expect("it can be written");
        let refused = SigningKey::of_file(&path).expect_err("it is no seed");
        assert!(refused.to_string().contains("no seed"), "{refused}");
        fs::remove_file(&path).expect("it is there");
    }
}
