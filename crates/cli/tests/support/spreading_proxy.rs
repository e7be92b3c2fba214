//! A proxy that runs the statements of one client session in two sessions of the server, in turn,
//! as pools of connections do that are asked for a session for each statement. As such pools do, it
//! keeps the schema of both the same.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const QUERY: u8 = 3;

/// Starts it in front of a server of the MySQL family. Returns its port.
///
/// The accounts of its clients have no password: both sessions are opened with the login that the
/// client has sent for one.
pub(crate) fn start(server_port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || serve(client, server_port));
        }
    });
    port
}

/// Serves one client until it or the server has closed its connection.
fn serve(mut client: TcpStream, server_port: u16) -> io::Result<()> {
    let connect = || TcpStream::connect(("127.0.0.1", server_port));
    let mut servers = [connect()?, connect()?];
    // Of the second session the client hears nothing.
    let greetings = [read_packet(&mut servers[0])?, read_packet(&mut servers[1])?];
    client.write_all(&greetings[0])?;
    let login = read_packet(&mut client)?;
    for server in &mut servers {
        server.write_all(&login)?;
    }
    let answers = [read_packet(&mut servers[0])?, read_packet(&mut servers[1])?];
    client.write_all(&answers[0])?;
    let swallows: [Arc<AtomicBool>; 2] = Default::default();
    for (server, swallows) in servers.iter().zip(&swallows) {
        let (from, to, swallows) = (server.try_clone()?, client.try_clone()?, Arc::clone(swallows));
        thread::spawn(move || pass_answers(from, to, &swallows));
    }
    let passed = pass_commands(&mut client, &mut servers, &swallows);
    for stream in servers.iter().chain([&client]) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    passed
}

/// A client sends a command when the one before it is answered, so the answers are in order.
fn pass_commands(
    client: &mut TcpStream,
    servers: &mut [TcpStream; 2],
    swallows: &[Arc<AtomicBool>; 2],
) -> io::Result<()> {
    for turn in [0, 1].into_iter().cycle() {
        let command = read_packet(client)?;
        if command[4] == QUERY && command[5..].starts_with(b"USE ") {
            let other = 1 - turn;
            swallows[other].store(true, Ordering::SeqCst);
            servers[other].write_all(&command)?;
        }
        servers[turn].write_all(&command)?;
    }
    Ok(())
}

/// `swallows`: the next packet is the answer to a `USE` that the other session answers, too.
fn pass_answers(mut from: TcpStream, mut to: TcpStream, swallows: &AtomicBool) -> io::Result<()> {
    loop {
        let packet = read_packet(&mut from)?;
        if !swallows.swap(false, Ordering::SeqCst) {
            to.write_all(&packet)?;
        }
    }
}

/// A packet with its header: three bytes of its length, and its number.
fn read_packet(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize;
    packet.resize(4 + length, 0);
    from.read_exact(&mut packet[4..])?;
    Ok(packet)
}
