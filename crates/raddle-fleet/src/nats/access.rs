//! The way to a NATS server: where it is, who asks, and what is said when it does not let us in.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, jetstream};
use tokio::runtime::Runtime;

use crate::error::{Problem, QueueError};

/// How long a server that does not answer is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// From one attempt to the next.
const PAUSE: Duration = Duration::from_millis(200);
/// How long one answer may take.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// How long a request of several answers may take. The client waits without end for some of them if the server was
/// restarted in between.
pub(super) const REQUEST: Duration = Duration::from_secs(60);
/// The same where megabytes are sent.
const TRANSFER: Duration = Duration::from_secs(600);

/// Where the server is, and who asks.
///
/// A user and a password may also stand in the URL. Files hold what a command line would show to others.
#[derive(Clone, Default)]
pub struct Access {
    /// `nats://host:4222`, or `tls://…`; several with commas between them.
    pub url: String,
    /// A token.
    pub token: Option<String>,
    /// A user with a password.
    pub user: Option<(String, String)>,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// A file with credentials: a token signed by the operator, and a seed.
    pub credentials: Option<PathBuf>,
    /// A file with certificates of authorities to trust.
    pub authorities: Option<PathBuf>,
    /// Files with our own certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl fmt::Debug for Access {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("url", &self.shown()).finish_non_exhaustive()
    }
}

impl Access {
    /// The URL without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        let hide = |url: &str| match url.split_once("://") {
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{host}"),
                None => url.to_owned(),
            },
            None => url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned(),
        };
        self.url.split(',').map(hide).collect::<Vec<_>>().join(",")
    }

    /// A user with a password in the first URL.
    fn user_in_url(&self) -> Option<(String, String)> {
        let first = self.url.split(',').next()?;
        let rest = first.split_once("://").map_or(first, |(_, rest)| rest);
        let (user, password) = rest.rsplit_once('@')?.0.split_once(':')?;
        Some((user.to_owned(), password.to_owned()))
    }

    async fn options(&self) -> Result<ConnectOptions, QueueError> {
        let unreadable = |path: &PathBuf, error: &dyn fmt::Display| {
            QueueError::new(Problem::Failed, format!("{} cannot be read: {error}", path.display()))
        };
        let mut options = ConnectOptions::new().name("raddle").connection_timeout(ANSWER);
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some((user, password)) = self.user.clone().or_else(|| self.user_in_url()) {
            options = options.user_and_password(user, password);
        }
        if let Some(path) = &self.nkey {
            let seed = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
            options = options.nkey(seed.trim().to_owned());
        }
        if let Some(path) = &self.credentials {
            let read = options.credentials_file(path).await;
            options = read.map_err(|error| unreadable(path, &error))?;
        }
        for path in self.authorities.iter().chain(self.certificate.iter().flat_map(|(c, k)| [c, k]))
        {
            // The client would say only that something of TLS is wrong.
            std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
        }
        if let Some(path) = &self.authorities {
            options = options.add_root_certificates(path.clone()).require_tls(true);
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}

/// A connection, which is made again whenever it is lost.
#[derive(Clone)]
pub struct Nats {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) client: async_nats::Client,
    pub(crate) context: jetstream::Context,
    shown: Arc<str>,
    /// How long a server that does not answer is asked again.
    patience: Duration,
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("url", &self.shown).finish_non_exhaustive()
    }
}

impl Nats {
    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not let us in.
    pub fn connect(access: &Access) -> Result<Self, QueueError> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| {
            QueueError::new(
                Problem::Failed,
                format!("no thread for the network could be started: {error}"),
            )
        })?;
        let urls: Vec<String> =
            access.shown().split(',').map(|url| url.trim().to_owned()).collect();
        let client = runtime.block_on(async {
            let options = access.options().await?;
            match tokio::time::timeout(REQUEST, options.connect(urls)).await {
                Ok(connected) => connected.map_err(|error| refused(&access.shown(), &error)),
                Err(_) => Err(QueueError::new(
                    Problem::Unreachable,
                    format!(
                        "{} takes connections and says nothing within {} s: is it a nats-server?",
                        access.shown(),
                        REQUEST.as_secs()
                    ),
                )),
            }
        })?;
        // It starts a task of its own.
        let inside = runtime.enter();
        let context = jetstream::context::ContextBuilder::new()
            .timeout(ANSWER)
            .ack_timeout(ANSWER)
            .build(client.clone());
        drop(inside);
        let (runtime, shown) = (Arc::new(runtime), access.shown().into());
        let nats = Self { runtime, client, context, shown, patience: PATIENCE };
        nats.has_streams()?;
        Ok(nats)
    }

    /// The same connection, for one who asks a server that does not answer again for no longer than this.
    #[must_use]
    pub fn with_patience(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Where it is connected to, without secrets.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether there is a connection now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// `JetStream` must be on.
    fn has_streams(&self) -> Result<(), QueueError> {
        // As JSON: older servers leave out what the client would read into a type.
        let asked: Option<Result<serde_json::Value, _>> =
            self.within(REQUEST, async || self.context.request("INFO", &()).await);
        let why = match asked {
            None => format!("no answer within {} s", REQUEST.as_secs()),
            Some(Ok(answer)) => match answer.get("error") {
                None => return Ok(()),
                Some(error) => {
                    error["description"].as_str().unwrap_or("no reason given").to_owned()
                }
            },
            Some(Err(error)) => error.to_string(),
        };
        Err(QueueError::new(
            Problem::Refused,
            format!(
                "{} has no JetStream for this user: {why}; start it with `nats-server --jetstream`, or \
                 have its operator allow it",
                self.shown
            ),
        ))
    }

    /// Runs a request once; none if it did not end within the limit.
    pub(crate) fn within<T>(&self, limit: Duration, request: impl AsyncFnOnce() -> T) -> Option<T> {
        // The timer is made inside of the runtime, which it needs.
        self.runtime.block_on(async { tokio::time::timeout(limit, request()).await.ok() })
    }

    /// Runs a request to its end, again and again while the server does not answer: all requests may be repeated.
    pub(crate) fn ask<T, E, F>(
        &self,
        what: &str,
        request: impl FnMut() -> F,
    ) -> Result<T, QueueError>
    where
        F: Future<Output = Result<T, E>>,
        E: fmt::Display + fmt::Debug,
    {
        self.ask_within(REQUEST, what, request)
    }

    /// [`Self::ask`] for what sends or fetches megabytes.
    pub(crate) fn transfer<T, E, F>(
        &self,
        what: &str,
        request: impl FnMut() -> F,
    ) -> Result<T, QueueError>
    where
        F: Future<Output = Result<T, E>>,
        E: fmt::Display + fmt::Debug,
    {
        self.ask_within(TRANSFER, what, request)
    }

    fn ask_within<T, E, F>(
        &self,
        limit: Duration,
        what: &str,
        mut request: impl FnMut() -> F,
    ) -> Result<T, QueueError>
    where
        F: Future<Output = Result<T, E>>,
        E: fmt::Display + fmt::Debug,
    {
        let began = Instant::now();
        loop {
            let (error, text) = match self.within(limit, async || request().await) {
                Some(Ok(answer)) => return Ok(answer),
                Some(Err(error)) => (error.to_string(), format!("{error} {error:?}")),
                None => (format!("no answer within {} s", limit.as_secs()), String::new()),
            };
            if is_full(&text) {
                return Err(QueueError::new(
                    Problem::Full,
                    format!(
                        "{} has no room: {what} was refused: {error}; what it acknowledged before is intact. Give its \
                         JetStream more space, then go on",
                        self.shown
                    ),
                ));
            }
            if text.to_lowercase().contains("permissions violation") {
                return Err(QueueError::new(
                    Problem::Refused,
                    format!(
                        "{} does not allow {what}: {error}; its operator must allow this user to use $JS.API.> and \
                         raddle.>",
                        self.shown
                    ),
                ));
            }
            if began.elapsed() > self.patience {
                return Err(QueueError::new(
                    Problem::Unreachable,
                    format!(
                        "{} did not answer for {} s: {what}: {error}; what it acknowledged before is intact",
                        self.shown,
                        self.patience.as_secs()
                    ),
                ));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn is_full(text: &str) -> bool {
    let text = text.to_lowercase();
    ["insufficient", "resources exceeded", "maximum bytes", "no space left"]
        .iter()
        .any(|word| text.contains(word))
}

fn refused(shown: &str, error: &ConnectError) -> QueueError {
    use std::error::Error as _;
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let cause = if cause.is_empty() { String::new() } else { format!(" ({cause})") };
    let (problem, text) = match error.kind() {
        ConnectErrorKind::ServerParse => (
            Problem::Failed,
            format!("`{shown}` is no address of a server: write nats://host:4222"),
        ),
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => (
            Problem::Refused,
            format!(
                "{shown} does not let us in: {error}{cause}; check the token, the user and the password, or the file of \
                 the nkey or credentials"
            ),
        ),
        // Of a certificate the client tells as of any other failure to read or write.
        kind if kind == ConnectErrorKind::Tls || cause.contains("certificate") => (
            Problem::Refused,
            format!("no trusted connection to {shown}: {error}{cause}; check the certificates"),
        ),
        _ => (
            Problem::Unreachable,
            format!(
                "{shown} cannot be reached: {error}{cause}; is a nats-server running there, and does the network let us \
                 through?"
            ),
        ),
    };
    QueueError::new(problem, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = |url: &str| Access { url: url.to_owned(), ..Access::default() }.shown();
        assert_eq!(shown("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(shown("me:secret@host,tls://b"), "host,tls://b");
        assert_eq!(shown("host:4222"), "host:4222");
        let access =
            Access { url: "a:b@c".to_owned(), token: Some("t".to_owned()), ..Access::default() };
        assert_eq!(format!("{access:?}"), "Access { url: \"c\", .. }");
    }
}
