//! A proxy that runs the statements of one client session in two sessions of the server, in turn, as pools of connections
//! do that are asked for a session for each statement.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// Starts it in front of a server of the MySQL family. Returns its port.
///
/// The accounts of its clients have no password: both sessions are opened with the login that the client has sent for one.
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
    for server in &servers {
        let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || io::copy(&mut from, &mut to));
    }
    let passed = pass_commands(&mut client, &mut servers);
    for stream in servers.iter().chain([&client]) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    passed
}

/// A client sends a command when the one before it is answered, so the answers are in order.
fn pass_commands(client: &mut TcpStream, servers: &mut [TcpStream; 2]) -> io::Result<()> {
    for turn in [0, 1].into_iter().cycle() {
        let command = read_packet(client)?;
        servers[turn].write_all(&command)?;
    }
    Ok(())
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
