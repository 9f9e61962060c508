//! Servers that know us by a key, by credentials that their operator signed, or by a certificate; and what is said with the wrong
//! ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;
use raddle_fleet::Problem;
use raddle_fleet::nats::{Access, Nats};
use serde_json::{Value, json};

use crate::bad_input::wrong;
use crate::server::{Directory, Program, Server};
use crate::{Test, Tried};

pub(crate) const TESTS: &[Test] = &[
    ("a_server_that_knows_our_key_lets_us_in_and_no_other", by_key),
    ("a_server_whose_operator_signed_our_credentials_lets_us_in", by_credentials),
    ("a_server_with_a_certificate_is_trusted_only_if_we_know_its_authority", by_certificate),
];

fn write(directory: &Directory, name: &str, text: &str) -> PathBuf {
    let path = directory.0.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn by_key(program: &Program) -> Tried {
    let (ours, other) = (KeyPair::new_user(), KeyPair::new_user());
    let more = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", ours.public_key());
    let server = Server::start_with(program, "127.0.0.1", &more);
    let files = Directory::new();
    let access = |key: &KeyPair, name: &str| {
        // As `nk` writes it: with a line end.
        let seed = format!("{}\n", key.seed().unwrap());
        Access { nkey: Some(write(&files, name, &seed)), ..server.access() }
    };
    Nats::connect(&access(&ours, "ours.nk")).unwrap();
    wrong(&access(&other, "other.nk"), Problem::Refused, &["does not let us in", "the nkey"]);
    wrong(&server.access(), Problem::Refused, &["does not let us in"]);
    let nonsense = Access { nkey: Some(write(&files, "no.nk", "secret")), ..server.access() };
    let error = Nats::connect(&nonsense).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
    let missing = Access { nkey: Some("/no/such/file.nk".into()), ..server.access() };
    wrong(&missing, Problem::Failed, &["/no/such/file.nk"]);
    Ok(())
}

/// Claims about `subject`, signed.
fn signed(by: &KeyPair, subject: &KeyPair, name: &str, about: &Value) -> String {
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let claims = json!({
        "jti": name,
        "iat": 1_700_000_000,
        "iss": by.public_key(),
        "sub": subject.public_key(),
        "name": name,
        "nats": about,
    });
    let encode = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = BASE64URL_NOPAD.encode(&by.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

/// A file of credentials for a new user of an account.
fn credentials(files: &Directory, name: &str, account: &KeyPair) -> PathBuf {
    let user = KeyPair::new_user();
    let about = json!({ "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2 });
    let token = signed(account, &user, name, &about);
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        user.seed().unwrap()
    );
    write(files, &format!("{name}.creds"), &text)
}

fn by_credentials(program: &Program) -> Tried {
    let (operator, account, system) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let limits = |streams: i64| {
        json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
            "leaf": -1, "mem_storage": streams, "disk_storage": streams, "streams": streams, "consumer": streams,
        })
    };
    let of_account = |key: &KeyPair, name: &str, streams| {
        let about = json!({ "limits": limits(streams), "type": "account", "version": 2 });
        format!("{}: {}", key.public_key(), signed(&operator, key, name, &about))
    };
    let about = json!({ "type": "operator", "version": 2 });
    let more = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}\n{}\n}}",
        signed(&operator, &operator, "operator", &about),
        system.public_key(),
        of_account(&account, "tests", -1),
        of_account(&system, "system", 0),
    );
    let server = Server::start_with(program, "127.0.0.1", &more);
    let files = Directory::new();
    let with = |file: PathBuf| Access { credentials: Some(file), ..server.access() };
    Nats::connect(&with(credentials(&files, "ours", &account))).unwrap();
    // Signed by an account that the operator does not know.
    let stranger = credentials(&files, "stranger", &KeyPair::new_account());
    wrong(&with(stranger), Problem::Refused, &["does not let us in", "credentials"]);
    wrong(&server.access(), Problem::Refused, &["does not let us in"]);
    let nonsense = with(write(&files, "no.creds", "secret"));
    let error = Nats::connect(&nonsense).unwrap_err().to_string();
    assert!(error.contains("no.creds") && !error.contains("secret"), "{error}");
    Ok(())
}

/// Runs `openssl`; what it said if it failed.
fn openssl(directory: &Path, arguments: &[&str]) -> Result<(), String> {
    let done = Command::new("openssl").current_dir(directory).args(arguments).output();
    let done = done.map_err(|error| format!("no openssl: {error}"))?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// An authority with a certificate for the loopback and one for us: `NAME.pem`, `NAME.key`.
fn certificates(directory: &Path) -> Tried {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=authority"];
    let files = ["-keyout", "authority.key", "-out", "authority.pem"];
    openssl(directory, &[&authority[..], &key, &files].concat())?;
    for (name, more) in [
        ("server", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"),
        ("ours", "extendedKeyUsage=clientAuth\n"),
    ] {
        let (private, request, out) =
            (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
        let (subject, extensions) = (format!("/CN={name}"), format!("{name}.ext"));
        fs::write(directory.join(&extensions), more).unwrap();
        let wanted = ["req", "-subj", &subject, "-keyout", &private, "-out", &request];
        openssl(directory, &[&wanted[..], &key].concat())?;
        let signed = ["x509", "-req", "-days", "2", "-in", &request, "-extfile", &extensions];
        let by = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"];
        openssl(directory, &[&signed[..], &by, &["-out", &out]].concat())?;
    }
    Ok(())
}

fn by_certificate(program: &Program) -> Tried {
    let (files, strange) = (Directory::new(), Directory::new());
    certificates(&files.0)?;
    certificates(&strange.0)?;
    let file = |name: &str| files.0.join(name);
    let more = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        file("server.pem").display(),
        file("server.key").display(),
        file("authority.pem").display()
    );
    let server = Server::start_with(program, "127.0.0.1", &more);
    let ours =
        |directory: &Directory| Some((directory.0.join("ours.pem"), directory.0.join("ours.key")));
    let known = Access {
        url: server.url().replace("nats://", "tls://"),
        authorities: Some(file("authority.pem")),
        certificate: ours(&files),
        ..Access::default()
    };
    Nats::connect(&known).unwrap();
    let authorities = Some(strange.0.join("authority.pem"));
    let untrusted = Access { authorities, ..known.clone() };
    wrong(&untrusted, Problem::Refused, &["no trusted connection", "certificates"]);
    // The server asks who we are, too.
    for certificate in [None, ours(&strange)] {
        let error = Nats::connect(&Access { certificate, ..known.clone() }).unwrap_err();
        assert!(error.to_string().contains("tls://127.0.0.1"), "{error}");
    }
    let missing = Access { authorities: Some("/no/such/ca.pem".into()), ..known };
    wrong(&missing, Problem::Failed, &["/no/such/ca.pem"]);
    Ok(())
}
