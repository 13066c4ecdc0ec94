//! Short captures of every format.

#![allow(clippy::expect_used, reason = "a test that cannot be set up fails")]

use pcie_capture::{Direction, Dllp, Event, Facts, Format, Kind, Packet, Tlp, WriteOptions, Writer};

/// Lines as a protocol analyser prints them, in the forms of the figures 5 and 6 of the paper on kPIO+WC.
pub const CELLS: &str = "\
Packet(2555) R->(2.5 x4) TLP(3884) Mem MWr(32)(10:00000) Length(1) RequesterID(000:00:0) Tag(0) Address(F7C03B18) \
1st BE(1111) Last BE(0000) Data(1A2B3C4D) LCRC(0x27DD3E1A) Time Delta(184.000 ns) Time Stamp(0000 . 000 000 000 s)
Packet(2556) R<-(2.5 x4) DLLP ACK AckNak_Seq_Num(3884) CRC 16(0x0776) Idle(424.000 ns) Time Stamp(0000 . 000 000 184 s)
Packet(2561) R<-(2.5 x4) TLP(1972) Mem MRd(32)(00:00000) Length(25) RequesterID(001:00:1) Tag(16) Address(666D1400) \
1st BE(1100) Last BE(1111) LCRC(0x6A37D1E5) Time Stamp(0000 . 000 001 504 s)
Packet(2563) R->(2.5 x4) TLP(3886) CplD(10:01010) Length(25) RequesterID(001:00:1) Tag(16) CompleterID(000:00:0) \
Status(SC) BCM(0) Byte Cnt(98) Lwr Addr(0x02) Data(0: 49484300 43000130\n  8: 00304948 00450008) Time Stamp(0000 . 000 001 736 s)
";

/// Fields of the Agilent dissector, as `tshark -T fields -E header=y` prints them.
pub const FIELDS: &str = "\
frame.time_relative\tpcie.record\tpcie.direction\tpcie.frame.tlp.seq\tpcie.tlp.fmt\tpcie.tlp.type\tpcie.tlp.len\tpcie.tlp.req\tpcie.tlp.tag\tpcie.tlp.first_dw_be\tpcie.tlp.last_dw_be\tpcie.tlp.addr\tpcie.tlp.cpl\tpcie.tlp.cpl.status\tpcie.tlp.cpl.byte_count\tpcie.tlp.cpl.lower_addr
0.000000000\t1\t1\t7\t0x01\t0x00\t128\t0x0300\t0x12\t0xf\t0xf\t0x0000003f80000000\t\t\t\t
0.000000850\t2\t0\t8\t0x02\t0x0a\t16\t0x0300\t0x12\t\t\t\t0x0000\t0x0\t512\t0x00
";

/// A protocol table of ngscopeclient.
pub const TABLE: &str = "\
Time (s),Seq,TC,Type,Addr,Flags,Requester,Completer,Tag,First,Last,Status,Count,Length
0.0000010,1,0,Mem read,00001000,,03:00.0,,4,,,,,64
0.0000019,1,0,Completion,...00,,03:00.0,00:00.0,4,,,SC,64,64
";

/// What PCILeech prints.
pub const PCILEECH: &str = "
TX: MRd64: Len: 020 ReqID: 0300 BE_FL: ff Tag: 80 Addr: 0000000100001000
0000    20 00 00 20 03 00 80 ff  00 00 00 01 00 00 10 00   .. ............

RX: CplD:  Len: 002 ReqID: 0300 CplID: 0000 Status: 0 BC: 080 Tag: 80 LowAddr: 00
0000    4a 00 00 02 00 00 00 80  03 00 80 00 11 22 33 44   J............\"3D
0010    55 66 77 88                                        Ufw.
";

/// A kernel's log.
pub const KERNEL: &str = "\
[   12.345678] pcieport 0000:00:01.0: AER: Uncorrectable (Non-Fatal) error message received from 0000:03:00.0
[   12.345700] nvme 0000:03:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)
[   12.345710] nvme 0000:03:00.0:   device [144d:a80a] error status/mask=00100000/00400000
[   12.345720] nvme 0000:03:00.0:    [20] UnsupReq               (First)
[   12.345730] nvme 0000:03:00.0: AER:   TLP Header: 40000001 0000000f fee00438 00000000
[   13.000000] nvme 0000:04:00.0:   TLP Header: 0x20000080 0x030012ff 0x0000003f 0x80000000
[   14.000000] nvme 0000:04:00.0: TLP Header (Flit): 0x20000080 0x030012ff 0x0000003f 0x80000000 0x00000000
";

/// A log of a NIC behind SimBricks.
pub const SIMBRICKS: &str = "\
main_time = 1000: nicbm: sync_pci=1 sync_eth=1
main_time = 2000: nicbm: write(off=0x18, len=4, val=0x5, posted=1)
main_time = 3000: nicbm: issuing dma op 0x5581aa addr 10040 len 62 pending 1
main_time = 3500: nicbm: issuing dma op 0x5581bb addr 20000 len 64 pending 2
main_time = 9000: nicbm: completed dma write op 0x5581bb addr 0x20000 len 64
main_time = 9500: nicbm: completed dma read op 0x5581aa addr 0x10040 len 62
main_time = 9900: nicbm: issue MSI-X interrupt vec 3
";

/// Frames that cocotbext-pcie's own classes print.
pub const FRAMES: &str = "\
  100.00ns INFO     cocotb.dut.s_axis_rq                TX RQ frame: UsPcieFrame(data=[0x00000040, 0x00000001, 0x03000803, 0x01000005, 0x02010000, 0x06050403, 0x00000807], byte_en=[], parity=[0xe, 0xe, 0xd, 0x7, 0x3, 0xd, 0xc], first_be=0xc, last_be=0x3, discontinue=False, seq_num=0)
  200.00ns INFO     cocotb.dut.m_axis_rc                RX RC frame: UsPcieFrame(data=[0x00080040, 0x03000002, 0x00000805, 0x03020100, 0x07060504], byte_en=[0x0, 0x0, 0x0, 0xf, 0xf], parity=[0xa, 0xe, 0xd, 0x9, 0x6], first_be=0x0, last_be=0x0, discontinue=False, seq_num=0)
";

/// A trace of `pcielab trace`.
pub const TRACE: &str = "# pcielab trace 1\n# a comment\n5000 read 64 512\n9000 write 4098 3\n";

/// SignalTap samples of a Stratix 10 block: a write of one double word upstream, a completion of two downstream.
pub const SIGNALTAP: &str = "\
Groups:
tx = tx_st_data, tx_st_sop

Data:
time unit: ns, top|dma|tx_st_data[255..0], top|dma|tx_st_sop[0], top|dma|tx_st_eop[0], top|dma|tx_st_valid[0], top|dma|tx_st_empty[2..0], top|dma|rx_st_data[255..0], top|dma|rx_st_sop[0], top|dma|rx_st_eop[0], top|dma|rx_st_valid[0], top|dma|rx_st_empty[2..0]
0, 0h, 0, 0, 0, 0h, 0h, 0, 0, 0, 0h
4, 000000000000000000000000000000004433221100001000010003 0F40000001h, 1, 1, 1, 4h, X, 0, 0, 0, 0h
8, 0h, 0, 0, 0, 0h, 000000000000000000000000000000000200000001010007000000000 84A000002h, 1, 1, 1, 3h
12, 0h, 0, 0, 0, 0h, 0h, 0, 0, 0, 0h
";

/// Value changes of a P-tile's stream: a write of 8 bytes at 0x1_0000_2000.
pub const PTILE: &str = "\
$timescale 1 ns $end
$scope module top $end
$var wire 1 ! coreclkout_hip_clk $end
$var wire 256 a tx_st_data [255:0] $end
$var wire 128 b tx_st_hdr [127:0] $end
$var wire 1 c tx_st_sop $end
$var wire 1 d tx_st_eop $end
$var wire 1 e tx_st_valid $end
$var wire 3 f tx_st_empty [2:0] $end
$upscope $end
$enddefinitions $end
#0
0!
0e
#1
1!
#2
0!
1e
1c
1d
b110 f
b0000100000000111000001100000010100000100000000110000001000000001 a
b01100000000000000000000000000010000000010000000000000000111111110000000000000000000000000000000100000000000000000010000000000000 b
#3
1!
#4
0!
0e
#5
1!
#6
";

/// An Ethernet frame with a NetTLP packet.
fn nettlp(port: u16, tlp: &[u8]) -> Vec<u8> {
    let udp = 8 + 6 + tlp.len() as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0]);
    frame.extend((20 + udp).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([port.to_be_bytes(), port.to_be_bytes(), udp.to_be_bytes(), [0, 0]].concat());
    frame.extend([0, 1, 0, 0, 0, 0]);
    frame.extend(tlp);
    frame
}

/// A capture in pcap of a link type, with a packet each microsecond.
pub fn pcap(link_type: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[0, 0, 1, 0]].concat();
    bytes.extend(link_type.to_le_bytes());
    for (at, packet) in packets.iter().enumerate() {
        let length = (packet.len() as u32).to_le_bytes();
        bytes.extend([1_u32.to_le_bytes(), (at as u32).to_le_bytes(), length, length].concat());
        bytes.extend(packet);
    }
    bytes
}

/// A read by the library of NetTLP, and its completion.
pub fn nettlp_pcap() -> Vec<u8> {
    let read = [0x20, 0, 0, 1, 1, 0, 7, 0x0f, 0, 0, 0, 1, 0, 0, 0x10, 0];
    let completion = [0x4a, 0, 0, 1, 0, 0, 0, 4, 1, 0, 7, 0, 9, 8, 7, 6];
    pcap(1, &[nettlp(0x3007, &read), nettlp(0x3007, &completion)])
}

/// Two packets and a DLLP.
pub fn events() -> Vec<Event> {
    let event = |time, direction, packet| Event {
        time_ps: Some(time),
        direction: Some(direction),
        port: 0,
        record: 1,
        packet,
        error: None,
    };
    let read = Tlp {
        length_dw: 16,
        requester: Some(0x300),
        tag: Some(5),
        first_enables: Some(15),
        last_enables: Some(15),
        address: Some(0x1_0000_0040),
        ..Tlp::of(Kind::MemoryRead)
    };
    let completion = Tlp {
        length_dw: 16,
        data_bytes: 64,
        requester: Some(0x300),
        completer: Some(0),
        tag: Some(5),
        status: Some(0),
        byte_count: Some(64),
        lower_address: Some(0x40),
        data: (0..64).collect(),
        ..Tlp::of(Kind::Completion { locked: false })
    };
    vec![
        event(0, Direction::Upstream, Packet::Tlp(read)),
        event(400_000, Direction::Downstream, Packet::Dllp(Dllp::Ack { sequence: 9 })),
        event(800_000, Direction::Downstream, Packet::Tlp(completion)),
    ]
}

/// What a writer makes of [`events`].
pub fn written(format: Format) -> Vec<u8> {
    let facts = Facts { ports: vec!["link".to_owned()], ..Facts::default() };
    let mut writer =
        Writer::new(format, &facts, &WriteOptions::default(), Vec::new()).expect("a written format");
    for event in events() {
        writer.event(&event).expect("memory takes it");
    }
    writer.finish().expect("memory takes it").1
}

/// A capture of every format, by name.
#[allow(dead_code, reason = "one of two tests needs it")]
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let mut samples = vec![
        ("cells", text(CELLS)),
        ("fields", text(FIELDS)),
        ("table", text(TABLE)),
        ("pcileech", text(PCILEECH)),
        ("kernel", text(KERNEL)),
        ("simbricks", text(SIMBRICKS)),
        ("frames", text(FRAMES)),
        ("trace", text(TRACE)),
        ("signaltap", text(SIGNALTAP)),
        ("ptile", text(PTILE)),
        ("nettlp", nettlp_pcap()),
    ];
    for (name, format) in [
        ("raw", Format::Raw),
        ("records", Format::Cyrozap),
        ("list", Format::List),
        ("text", Format::Text),
        ("ila", Format::IlaCsv),
        ("vcd", Format::Vcd),
    ] {
        samples.push((name, written(format)));
    }
    samples.push(("straddled", include_bytes!("../fixtures/straddled.csv.gz").to_vec()));
    samples.push(("litepcie", include_bytes!("../fixtures/litepcie.vcd.gz").to_vec()));
    samples.push(("ultrascale", include_bytes!("../fixtures/ultrascale.vcd.gz").to_vec()));
    samples.push(("cocotb", include_bytes!("../fixtures/cocotb.log.gz").to_vec()));
    samples
}
