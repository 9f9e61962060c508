//! The live page: one file of HTML, and what it asks for every second, served on the loopback alone.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::standing::Standing;
use crate::error::DriverError;

const PAGE: &str = include_str!("live.html");
/// A browser that says nothing for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A page that is served until the process ends.
#[derive(Clone, Debug)]
pub(super) struct LivePage {
    pub(super) url: String,
    standing: Arc<Mutex<String>>,
}

impl LivePage {
    pub(super) fn serve(port: u16) -> Result<Self, DriverError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            DriverError::usage(format!(
                "no page can be served on port {port} of the loopback: {error}; write --page 0 for any that is free"
            ))
        })?;
        let address =
            listener.local_addr().map_err(|error| DriverError::tool(error.to_string()))?;
        let standing = Arc::new(Mutex::new("null".to_owned()));
        let shown = Arc::clone(&standing);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shown = Arc::clone(&shown);
                thread::spawn(move || answer(stream, &shown));
            }
        });
        Ok(Self { url: format!("http://{address}/"), standing })
    }

    /// What is shown from now on.
    pub(super) fn show(&self, standing: &Standing) {
        let text = serde_json::to_string(standing).unwrap_or_default();
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Answers one request. What a page of another site makes a browser send here is refused by its `Host`.
fn answer(mut stream: TcpStream, standing: &Mutex<String>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let local = stream.local_addr()?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut host = String::new();
    for line in lines.by_ref().take(100) {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            value.trim().clone_into(&mut host);
        }
    }
    let ours = [format!("127.0.0.1:{}", local.port()), format!("localhost:{}", local.port())];
    let (status, kind, body) = match request.split(' ').nth(1) {
        _ if !ours.contains(&host) => {
            ("403 Forbidden", "text/plain", "not for this host\n".to_owned())
        }
        Some("/") => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
        Some("/standing.json") => {
            let text = standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", "application/json", text)
        }
        _ => ("404 Not Found", "text/plain", "there is nothing here\n".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'self' 'unsafe-inline'\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
