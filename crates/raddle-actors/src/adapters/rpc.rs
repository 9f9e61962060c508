//! Calls to a server elsewhere.

use std::fmt::{self, Debug};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::context::Context;

/// Calls a server and has its answer.
pub trait Rpc: Send {
    /// What is asked.
    type Request;
    /// What is answered.
    type Answer;

    /// Makes one call.
    ///
    /// # Errors
    /// If there is no answer.
    fn call<M: Debug + Send + 'static>(
        &mut self,
        request: Self::Request,
        cx: &mut Context<'_, M>,
    ) -> Result<Self::Answer, RpcError>;
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RpcError {
    /// The server was not reached: it has done nothing.
    Unreachable,
    /// Nothing came back in time. The server may have done what it was asked, or not.
    NoAnswer,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the server cannot be reached",
            Self::NoAnswer => "the server has not answered in time",
        })
    }
}

impl std::error::Error for RpcError {}

/// Calls over TCP, a connection for each: four bytes with the length (big-endian), then the bytes of
/// the request; the answer likewise.
///
/// A call waits for the network, and with it the thread that runs the actor: give it to an actor that
/// does nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TcpRpc {
    server: SocketAddr,
    timeout: Duration,
}

/// Longer answers are refused.
const MAX_ANSWER_BYTES: u32 = 64 << 20;

impl TcpRpc {
    /// Calls to this server, each of whose reads and writes may take so long.
    #[must_use]
    pub fn new(server: SocketAddr, timeout: Duration) -> Self {
        Self { server, timeout }
    }

    fn exchange(&self, stream: &mut TcpStream, request: &[u8]) -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        write_frame(stream, request)?;
        read_frame(stream)
    }
}

fn write_frame(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MAX_ANSWER_BYTES);
    let length = length.ok_or(io::ErrorKind::InvalidInput)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(bytes)?;
    stream.flush()
}

fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_ANSWER_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

impl Rpc for TcpRpc {
    type Request = Vec<u8>;
    type Answer = Vec<u8>;

    fn call<M: Debug + Send + 'static>(
        &mut self,
        request: Vec<u8>,
        _: &mut Context<'_, M>,
    ) -> Result<Vec<u8>, RpcError> {
        let stream = TcpStream::connect_timeout(&self.server, self.timeout);
        let mut stream = stream.map_err(|_| RpcError::Unreachable)?;
        self.exchange(&mut stream, &request).map_err(|_| RpcError::NoAnswer)
    }
}

/// A stand-in for a server, with its state: the search decides which calls fail, and whether before or
/// after the server did what it was asked.
///
/// One stand-in is one actor's: a server that several actors call is an actor itself.
#[cfg(feature = "check")]
#[derive(Debug)]
pub struct Server<S, Q, A> {
    state: S,
    answer: fn(&mut S, Q) -> A,
    failures: u32,
}

#[cfg(feature = "check")]
impl<S, Q, A> Server<S, Q, A> {
    /// A server that answers so, and of whose calls at most `failures` fail.
    pub fn new(state: S, failures: u32, answer: fn(&mut S, Q) -> A) -> Self {
        Self { state, answer, failures }
    }

    /// What it has become.
    pub fn state(&self) -> &S {
        &self.state
    }
}

#[cfg(feature = "check")]
impl<S: Clone, Q, A> Clone for Server<S, Q, A> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), ..*self }
    }
}

#[cfg(feature = "check")]
impl<S: std::hash::Hash, Q, A> std::hash::Hash for Server<S, Q, A> {
    /// Of its state: how it answers does not change.
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
        self.failures.hash(hasher);
    }
}

#[cfg(feature = "check")]
impl<S: Send, Q, A> Rpc for Server<S, Q, A> {
    type Request = Q;
    type Answer = A;

    fn call<M: Debug + Send + 'static>(
        &mut self,
        request: Q,
        cx: &mut Context<'_, M>,
    ) -> Result<A, RpcError> {
        let fate = if self.failures > 0 { cx.choose(4) } else { 0 };
        self.failures -= u32::from(fate > 0);
        match fate {
            1 => return Err(RpcError::Unreachable),
            // The request was lost.
            2 => return Err(RpcError::NoAnswer),
            _ => {}
        }
        let answer = (self.answer)(&mut self.state, request);
        // Or the answer was.
        if fate == 3 { Err(RpcError::NoAnswer) } else { Ok(answer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, System};
    use std::net::TcpListener;

    struct Caller {
        rpc: TcpRpc,
        answers: Vec<Result<Vec<u8>, RpcError>>,
    }

    impl Actor for Caller {
        type Message = Vec<u8>;
        fn handle(&mut self, request: Vec<u8>, cx: &mut Context<'_, Vec<u8>>) {
            let answer = self.rpc.call(request, cx);
            self.answers.push(answer);
        }
    }

    fn call(server: SocketAddr, request: &[u8]) -> Result<Vec<u8>, RpcError> {
        let rpc = TcpRpc::new(server, Duration::from_secs(10));
        let system = System::deterministic();
        let caller = system.spawn(Caller { rpc, answers: Vec::new() });
        system.send(&caller, request.to_vec());
        system.handle_all();
        system.inspect(&caller, |caller: &Caller| caller.answers[0].clone())
    }

    #[test]
    fn a_server_answers_and_one_that_hangs_up_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = listener.local_addr().expect("it is bound");
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a call");
            let mut request = read_frame(&mut stream).expect("a request");
            request.reverse();
            write_frame(&mut stream, &request).expect("it is read");
            drop(listener.accept().expect("another call"));
        });
        assert_eq!(call(server, b"abc"), Ok(b"cba".to_vec()));
        assert_eq!(call(server, b"abc"), Err(RpcError::NoAnswer));
        serving.join().expect("it served");
        assert_eq!(call(server, b"abc"), Err(RpcError::Unreachable));
    }

    #[test]
    fn a_frame_that_is_cut_or_too_long_is_refused() {
        assert_eq!(read_frame(&mut [0, 0, 0, 1, 7].as_slice()).expect("whole"), [7]);
        for bytes in [[0, 0, 0, 2, 7].as_slice(), &[0, 0], &[255, 255, 255, 255]] {
            assert!(read_frame(&mut &*bytes).is_err(), "{bytes:?}");
        }
    }
}
