// A DMA engine that writes host memory as fast as an UltraScale+ PCIe block takes its writes (RQ, 512 bits; PG213), and
// reads 64 B now and then, to see how long a read takes beside its writes. Each double word holds its number in the
// window. Addresses and lengths are whole double words, no write crosses 4 KiB, and one read at a time is in flight.
module write_dma (
    input  wire          clk,
    input  wire          rst,
    // The job: `count` writes of `bytes` each, one after the other from `base` on, around a window.
    input  wire          start,
    input  wire  [ 63:0] base,
    input  wire  [ 31:0] count,
    input  wire  [ 12:0] bytes,
    input  wire  [ 31:0] window,
    // Writes from one read to the next; 0: no reads.
    input  wire  [ 31:0] read_after,
    output logic         done,
    // Reads that were answered, and the most clocks that one took from when the engine had it.
    output logic [ 31:0] answered,
    output logic [ 31:0] slowest,
    // Requests.
    output logic [511:0] s_axis_rq_tdata,
    output logic [ 15:0] s_axis_rq_tkeep,
    output logic         s_axis_rq_tlast,
    output logic [136:0] s_axis_rq_tuser,
    output logic         s_axis_rq_tvalid,
    input  wire          s_axis_rq_tready,
    // Completions.
    input  wire  [511:0] m_axis_rc_tdata,
    input  wire  [ 15:0] m_axis_rc_tkeep,
    input  wire          m_axis_rc_tlast,
    input  wire  [160:0] m_axis_rc_tuser,
    input  wire          m_axis_rc_tvalid,
    output logic         m_axis_rc_tready
);
  localparam logic [3:0] READ = 4'b0000, WRITE = 4'b0001;
  logic [31:0] offset, to_send, since_read, waited;
  // Double words of the current write behind the present beat, and the next of them.
  logic [10:0] left;
  logic [31:0] word;
  // A read is due, or in flight.
  logic due, in_flight, completes, in_packet;

  wire [10:0] dwords = bytes[12:2];
  wire ready = !s_axis_rq_tvalid || s_axis_rq_tready;
  wire send_read = ready && left == 0 && due && !in_flight;
  wire send_write = ready && left == 0 && !send_read && to_send != 0;

  function automatic logic [127:0] descriptor(input logic [3:0] kind, input logic [10:0] length, input logic [63:0] at);
    return 128'({24'b0, 8'b0, 16'b0, 1'b0, kind, length, at[63:2], 2'b00});
  endfunction

  // Byte enables of the first and the last double word, and where the packet starts and ends.
  function automatic logic [136:0] user(input logic [10:0] length, input logic first, input logic last, input logic [3:0] end_at);
    return {105'b0, end_at, 1'b0, last, 4'b0, 1'b0, first, 4'b0, 4'h0, length == 1 ? 4'h0 : 4'hf, 4'h0, 4'hf};
  endfunction

  always_ff @(posedge clk) begin
    if (ready) s_axis_rq_tvalid <= send_read || send_write || left != 0;
    if (ready && left != 0) begin
      for (int i = 0; i < 16; i++) s_axis_rq_tdata[32*i+:32] <= word + 32'(i);
      s_axis_rq_tkeep <= left >= 16 ? 16'hffff : 16'((1 << left) - 1);
      s_axis_rq_tlast <= left <= 16;
      s_axis_rq_tuser <= user(dwords, 0, left <= 16, left <= 16 ? 4'(left - 1) : 4'd0);
      word <= word + 16;
      left <= left > 16 ? left - 16 : 0;
    end
    if (send_read) begin
      s_axis_rq_tdata <= 512'(descriptor(READ, 16, base));
      {s_axis_rq_tkeep, s_axis_rq_tlast} <= {16'h000f, 1'b1};
      s_axis_rq_tuser <= user(16, 1, 1, 4'd3);
    end
    if (send_write) begin
      s_axis_rq_tdata[127:0] <= descriptor(WRITE, dwords, base + 64'(offset));
      for (int i = 0; i < 12; i++) s_axis_rq_tdata[128+32*i+:32] <= (offset >> 2) + 32'(i);
      s_axis_rq_tkeep <= dwords >= 12 ? 16'hffff : 16'((1 << (dwords + 4)) - 1);
      s_axis_rq_tlast <= dwords <= 12;
      s_axis_rq_tuser <= user(dwords, 1, dwords <= 12, dwords <= 12 ? 4'(dwords + 3) : 4'd0);
      word <= (offset >> 2) + 12;
      left <= dwords > 12 ? dwords - 12 : 0;
      to_send <= to_send - 1;
      offset <= offset + 32'(bytes) == window ? 0 : offset + 32'(bytes);
      since_read <= since_read + 1;
    end
    if (start) {left, offset, since_read, to_send} <= {11'b0, 32'b0, 32'b0, count};
    if (due && since_read != 0) since_read <= 0;
    if (rst) {s_axis_rq_tvalid, left, to_send} <= '0;
  end

  // A completion says in its first beat whether it is the last of its request.
  assign m_axis_rc_tready = 1;
  wire first = m_axis_rc_tvalid && !in_packet;
  wire ends = m_axis_rc_tvalid && m_axis_rc_tlast && (first ? m_axis_rc_tdata[30] : completes);
  always_ff @(posedge clk) begin
    if (m_axis_rc_tvalid) in_packet <= !m_axis_rc_tlast;
    if (first) completes <= m_axis_rc_tdata[30];
    if (due || in_flight) waited <= waited + 1;
    if (send_read) {due, in_flight} <= 2'b01;
    if (read_after != 0 && since_read >= read_after && !due && !in_flight) {due, waited} <= {1'b1, 32'd1};
    if (ends) begin
      in_flight <= 0;
      answered <= answered + 1;
      if (waited > slowest) slowest <= waited;
    end
    done <= to_send == 0 && left == 0 && !s_axis_rq_tvalid && !start;
    if (start) {answered, slowest} <= '0;
    if (rst) {due, in_flight, in_packet, answered, slowest} <= '0;
  end
endmodule
