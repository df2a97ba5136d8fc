/*
 * Print formats as kernels write them, with records to put through them. Records are made for
 * either byte order.
 */
#ifndef TESTS_UNIT_TRACEFMT_CASES_H
#define TESTS_UNIT_TRACEFMT_CASES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tracefmt_case {
	const char *name;
	const char *fields; /* TYPE NAME:OFFSET:SIZE:SIGNED; behind the common ones */
	const char *print;
	const char *values; /* one a field: 12, -1, 0xff, 'text', [1 2 3] */
	const char *text;
};

#define SCHED_STATES                                                                     \
	"0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | " \
	"0x00000020 | 0x00000040"
#define GFP_FLAGS                                                                                 \
	"{(unsigned long)((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u)) | (( " \
	"gfp_t)0x02u)) ), "                                                                       \
	"\"GFP_HIGHUSER\"}, "                                                                     \
	"{(unsigned long)(((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | (( gfp_t)0x80u))), "     \
	"\"GFP_KERNEL\"}, "                                                                       \
	"{(unsigned long)(((( gfp_t)0x20u)|(( gfp_t)0x800u))), \"GFP_ATOMIC\"}, "                 \
	"{(unsigned long)(( gfp_t)0x100u), \"__GFP_ZERO\"}, {(unsigned long)(( gfp_t)0x2000u), "  \
	"\"__GFP_NOWARN\"}"
#define SOFTIRQS                                                                                 \
	"{ 0, \"HI\" }, { 1, \"TIMER\" }, { 2, \"NET_TX\" }, { 3, \"NET_RX\" }, { 4, \"BLOCK\" " \
	"}, { 5, "                                                                               \
	"\"IRQ_POLL\" }, "                                                                       \
	"{ 6, \"TASKLET\" }, { 7, \"SCHED\" }, { 8, \"HRTIMER\" }, { 9, \"RCU\" }"

static const struct tracefmt_case tracefmt_cases[] = {
	{ "sched_switch",
	  "char prev_comm[16]:8:16:0;pid_t prev_pid:24:4:1;int prev_prio:28:4:1;long "
	  "prev_state:32:8:1;char "
	  "next_comm[16]:40:16:0;"
	  "pid_t next_pid:56:4:1;int next_prio:60:4:1",
	  "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "
	  "next_prio=%d\", "
	  "REC->prev_comm, "
	  "REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((" SCHED_STATES
	  ") + 1) << 1) - 1)) ? __print_flags(REC->prev_state & "
	  "((((" SCHED_STATES ") + 1) << 1) - 1), \"|\", { 0x00000001, \"S\" }, { 0x00000002, "
			      "\"D\" }, { 0x00000004, \"T\" }, "
	  "{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, "
	  "\"P\" }, { "
	  "0x00000080, \"I\" }) : \"R\", "
	  "REC->prev_state & (((" SCHED_STATES
	  ") + 1) << 1) ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio",
	  "'swapper/0' 0 120 0x102 'kworker/u8:1' 77 -1",
	  "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=D+ ==> next_comm=kworker/u8:1 "
	  "next_pid=77 "
	  "next_prio=-1" },
	{ "sched_switch 4.4", "char prev_comm[16]:8:16:0;long prev_state:24:8:1",
	  "\"prev_comm=%s prev_state=%s%s\", REC->prev_comm, REC->prev_state & (1024-1) ? "
	  "__print_flags(REC->prev_state & (1024-1), "
	  "\"|\", { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, "
	  "\"X\" }, { 64, "
	  "\"x\" }, { 128, \"K\" }, "
	  "{ 256, \"W\" }, { 512, \"P\" }) : \"R\", REC->prev_state & 1024 ? \"+\" : \"\"",
	  "'sixteen-letters!' 0x403", "prev_comm=sixteen-letters! prev_state=S|D+" },
	{ "sched_wakeup",
	  "char comm[16]:8:16:0;pid_t pid:24:4:1;int prio:28:4:1;int target_cpu:32:4:1",
	  "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
	  "REC->target_cpu",
	  "'abc' 29463 120 1", "comm=abc pid=29463 prio=120 target_cpu=001" },
	{ "irq_handler_entry", "int irq:8:4:1;__data_loc char[] name:12:4:1",
	  "\"irq=%d name=%s\", REC->irq, __get_str(name)", "27 'virtio0-input.0'",
	  "irq=27 name=virtio0-input.0" },
	{ "irq_handler_exit", "int irq:8:4:1;int ret:12:4:1",
	  "\"irq=%d ret=%s\", REC->irq, REC->ret ? \"handled\" : \"unhandled\"", "27 1",
	  "irq=27 ret=handled" },
	{ "softirq_raise", "unsigned int vec:8:4:0",
	  "\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, " SOFTIRQS ")", "9",
	  "vec=9 [action=RCU]" },
	{ "softirq_raise 4.4", "unsigned int vec:8:4:0",
	  "\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { HI_SOFTIRQ, \"HI\" }, { "
	  "TIMER_SOFTIRQ, "
	  "\"TIMER\" }, "
	  "{ NET_TX_SOFTIRQ, \"NET_TX\" }, { RCU_SOFTIRQ, \"RCU\" })",
	  "1", "vec=1 [action=TIMER]" },
	{ "kmalloc",
	  "unsigned long call_site:8:8:0;const void * ptr:16:8:0;size_t bytes_req:24:8:0;size_t "
	  "bytes_alloc:32:8:0;"
	  "unsigned long gfp_flags:40:8:0;int node:48:4:1",
	  "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d "
	  "accounted=%s\", (void "
	  "*)REC->call_site, REC->ptr, "
	  "REC->bytes_req, REC->bytes_alloc, (REC->gfp_flags) ? __print_flags(REC->gfp_flags, "
	  "\"|\", " GFP_FLAGS ") : \"none\", "
	  "REC->node, (REC->gfp_flags & (( gfp_t)0x400000u)) ? \"true\" : \"false\"",
	  "0xffffffff81234567 0xffff888100000000 60 64 0xdc0 -1",
	  "call_site=0xffffffff81234567 ptr=0xffff888100000000 bytes_req=60 bytes_alloc=64 "
	  "gfp_flags=GFP_KERNEL|__GFP_ZERO node=-1 "
	  "accounted=false" },
	{ "mm_page_alloc",
	  "unsigned long pfn:8:8:0;unsigned int order:16:4:0;unsigned long gfp_flags:24:8:0;int "
	  "migratetype:32:4:1",
	  "\"page=%p pfn=0x%lx order=%d migratetype=%d gfp_flags=%s\", REC->pfn != -1UL ? "
	  "(((struct page "
	  "*)vmemmap_base) + (REC->pfn)) : "
	  "((void *)0), REC->pfn != -1UL ? REC->pfn : 0, REC->order, REC->migratetype, "
	  "(REC->gfp_flags) ? "
	  "__print_flags(REC->gfp_flags, \"|\", " GFP_FLAGS ") : \"none\"",
	  "0x1234 0 0 1", "page=<vmemmap_base> pfn=0x1234 order=0 migratetype=1 gfp_flags=none" },
	{ "sys_enter", "long id:8:8:1;unsigned long args[6]:16:48:0",
	  "\"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\", REC->id, REC->args[0], REC->args[1], "
	  "REC->args[2], "
	  "REC->args[3], REC->args[4], "
	  "REC->args[5]",
	  "257 [0xffffff9c 0x7ffc0 0x80000 0 0 0xffffffffffffffff]",
	  "NR 257 (ffffff9c, 7ffc0, 80000, 0, 0, ffffffffffffffff)" },
	{ "sys_enter_clock_nanosleep",
	  "int __syscall_nr:8:4:1;const clockid_t which_clock:16:8:0;int flags:24:8:0;const struct "
	  "__kernel_timespec * rqtp:32:8:0",
	  "\"which_clock: 0x%08lx, flags: 0x%08lx, rqtp: 0x%08lx\", ((unsigned "
	  "long)(REC->which_clock)), "
	  "((unsigned "
	  "long)(REC->flags)), ((unsigned long)(REC->rqtp))",
	  "230 1 0 0x7ffd1234", "which_clock: 0x00000001, flags: 0x00000000, rqtp: 0x7ffd1234" },
	{ "sys_exit", "long id:8:8:1;long ret:16:8:1", "\"NR %ld = %ld\", REC->id, REC->ret",
	  "39 -22", "NR 39 = -22" },
	{ "page_fault_user",
	  "unsigned long address:8:8:0;unsigned long ip:16:8:0;unsigned long error_code:24:8:0",
	  "\"address=%ps ip=%ps error_code=0x%lx\", (void *)REC->address, (void *)REC->ip, "
	  "REC->error_code",
	  "0x7f0012345678 0 0x14", "address=0x7f0012345678 ip=0x0 error_code=0x14" },
	{ "block_rq_issue",
	  "dev_t dev:8:4:0;sector_t sector:16:8:0;unsigned int nr_sector:24:4:0;unsigned int "
	  "bytes:28:4:0;char "
	  "rwbs[8]:32:8:0;"
	  "char comm[16]:40:16:0;__data_loc char[] cmd:56:4:1",
	  "\"%d,%d %s %u (%s) %llu + %u [%s]\", ((unsigned int) ((REC->dev) >> 20)), ((unsigned "
	  "int) ((REC->dev) & "
	  "((1U << 20) - 1))), "
	  "REC->rwbs, REC->bytes, __get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, "
	  "REC->comm",
	  "0x800010 123456789012 8 4096 'WS' 'kworker/0:1H' ''",
	  "8,16 WS 4096 () 123456789012 + 8 [kworker/0:1H]" },
	{ "ext4_da_write_begin",
	  "dev_t dev:8:4:0;ino_t ino:16:8:0;loff_t pos:24:8:1;unsigned int len:32:4:0;unsigned int "
	  "flags:36:4:0",
	  "\"dev %d,%d ino %lu pos %lld len %u flags %u\", ((unsigned int) ((REC->dev) >> 20)), "
	  "((unsigned int) "
	  "((REC->dev) & ((1U << "
	  "20) - 1))), (unsigned long) REC->ino, REC->pos, REC->len, REC->flags",
	  "0xfd00001 1311 -1 4096 0", "dev 253,1 ino 1311 pos -1 len 4096 flags 0" },
	{ "ext4_es_lookup_extent_exit",
	  "dev_t dev:8:4:0;ino_t ino:16:8:0;ext4_lblk_t lblk:24:4:0;ext4_lblk_t "
	  "len:28:4:0;ext4_fsblk_t "
	  "pblk:32:8:0;char status:40:1:0;"
	  "int found:44:4:1",
	  "\"dev %d,%d ino %lu found %d [%u/%u) %llu %s\", ((unsigned int) ((REC->dev) >> 20)), "
	  "((unsigned int) "
	  "((REC->dev) & ((1U << 20) "
	  "- 1))), (unsigned long) REC->ino, REC->found, REC->lblk, REC->len, REC->found ? "
	  "REC->pblk : 0, "
	  "__print_flags(REC->found ? "
	  "REC->status : 0, \"\", { (1 << 0), \"W\" }, { (1 << 1), \"U\" }, { (1 << 2), \"D\" }, { "
	  "(1 << 3), \"H\" "
	  "}, { (1 << 4), \"R\" })",
	  "0x800001 12 7 9 34561 0x11 1", "dev 8,1 ino 12 found 1 [7/9) 34561 WR" },
	{ "net_dev_queue",
	  "void * skbaddr:8:8:0;unsigned int len:16:4:0;__data_loc char[] name:20:4:1",
	  "\"dev=%s skbaddr=%p len=%u\", __get_str(name), REC->skbaddr, REC->len",
	  "0xffff8881030a9c00 98 'eth0'", "dev=eth0 skbaddr=0xffff8881030a9c00 len=98" },
	{ "napi_poll",
	  "struct napi_struct * napi:8:8:0;__data_loc char[] dev_name:16:4:1;int work:20:4:1;int "
	  "budget:24:4:1",
	  "\"napi poll on napi struct %p for device %s work %d budget %d\", REC->napi, "
	  "__get_str(dev_name), "
	  "REC->work, REC->budget",
	  "0 'lo' 1 64", "napi poll on napi struct (nil) for device lo work 1 budget 64" },
	{ "timer_start",
	  "void * timer:8:8:0;void * function:16:8:0;unsigned long expires:24:8:0;unsigned long "
	  "bucket_expiry:32:8:0;unsigned long now:40:8:0;"
	  "unsigned int flags:48:4:0",
	  "\"timer=%p function=%ps expires=%lu [timeout=%ld] bucket_expiry=%lu cpu=%u idx=%u "
	  "flags=%s\", "
	  "REC->timer, REC->function, "
	  "REC->expires, (long)REC->expires - REC->now, REC->bucket_expiry, REC->flags & "
	  "0x0003FFFF, REC->flags >> "
	  "22, "
	  "__print_flags(REC->flags & (0x00040000 | 0x00080000 | 0x00100000 | 0x00200000), \"|\", "
	  "{ 0x00040000, "
	  "\"M\" }, { 0x00080000, "
	  "\"D\" }, { 0x00100000, \"P\" }, { 0x00200000, \"I\" })",
	  "0xffff888003 0xffffffff81100000 4294900000 4294900001 4294900100 0x0a2c0001",
	  "timer=0xffff888003 function=0xffffffff81100000 expires=4294900000 [timeout=-100] "
	  "bucket_expiry=4294900001 cpu=1 idx=40 "
	  "flags=M|D|I" },
	{ "hrtimer_start",
	  "void * hrtimer:8:8:0;void * function:16:8:0;s64 expires:24:8:1;s64 "
	  "softexpires:32:8:1;enum hrtimer_mode "
	  "mode:40:4:0",
	  "\"hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s\", REC->hrtimer, "
	  "REC->function, "
	  "(unsigned long long) "
	  "REC->expires, (unsigned long long) REC->softexpires, __print_symbolic(REC->mode, { "
	  "HRTIMER_MODE_ABS, "
	  "\"ABS\" }, { 1, \"REL\" }, "
	  "{ (2|1), \"REL|PINNED\" })",
	  "0x10 0x20 123 122 3",
	  "hrtimer=0x10 function=0x20 expires=123 softexpires=122 mode=REL|PINNED" },
	{ "workqueue_queue_work",
	  "void * work:8:8:0;void * function:16:8:0;__data_loc char[] workqueue:24:4:1;int "
	  "req_cpu:28:4:1;int "
	  "cpu:32:4:1",
	  "\"work struct=%p function=%ps workqueue=%s req_cpu=%d cpu=%d\", REC->work, "
	  "REC->function, "
	  "__get_str(workqueue), REC->req_cpu, "
	  "REC->cpu",
	  "0xff01 0xff02 'events_unbound' 8192 -1",
	  "work struct=0xff01 function=0xff02 workqueue=events_unbound req_cpu=8192 cpu=-1" },
	{ "signal_generate",
	  "int sig:8:4:1;int errno:12:4:1;int code:16:4:1;char comm[16]:20:16:0;pid_t "
	  "pid:36:4:1;int "
	  "group:40:4:1;int result:44:4:1",
	  "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", REC->sig, REC->errno, "
	  "REC->code, REC->comm, "
	  "REC->pid, REC->group, "
	  "REC->result",
	  "17 0 1 'bash' 4242 1 0", "sig=17 errno=0 code=1 comm=bash pid=4242 grp=1 res=0" },
	{ "ipi_send_cpumask",
	  "__data_loc cpumask_t cpumask:8:4:0;void * callsite:16:8:0;void * callback:24:8:0",
	  "\"cpumask=%s callsite=%pS callback=%pS\", __get_cpumask(cpumask), REC->callsite, "
	  "REC->callback",
	  "<0x0000000d00000003> 0x10 0x20", "cpumask=0-1,32,34-35 callsite=0x10 callback=0x20" },
	{ "a bitmask", "__data_loc unsigned long[] mask:8:4:0", "\"mask=%s\", __get_bitmask(mask)",
	  "[0x0000000d00000003 0x5]", "mask=00000000,00000005,0000000d,00000003" },
	{ "fib_table_lookup",
	  "__u8 src[4]:8:4:0;__u8 dst[4]:12:4:0;__u8 gw6[16]:16:16:0;u16 sport:32:2:0",
	  "\"src %pI4 dst %pi4 gw %pI6c sport %u\", REC->src, REC->dst, REC->gw6, REC->sport",
	  "[10 0 2 15] [10 0 2 2] [0xfe 0x80 0 0 0 0 0 0 0 0 0 0 0 0 0 1] 443",
	  "src 10.0.2.15 dst 010.000.002.002 gw fe80::1 sport 443" },
	{ "cfg80211 mac", "u8 addr[6]:8:6:0;u32 freq:16:4:0",
	  "\"mac: %pM, %pm, %pMR, %pMF freq %u\", REC->addr, REC->addr, REC->addr, "
	  "REC->addr, REC->freq",
	  "[1 2 0xab 0xcd 5 6] 2412",
	  "mac: 01:02:ab:cd:05:06, 0102abcd0506, 06:05:cd:ab:02:01, 01-02-ab-cd-05-06 freq 2412" },
	{ "i2c_read", "__u16 len:8:2:0;__data_loc __u8[] buf:12:4:0",
	  "\"l=%u [%*phD] %s %s\", REC->len, REC->len, __get_dynamic_array(buf), "
	  "__print_hex(__get_dynamic_array(buf), REC->len), "
	  "__print_hex_str(__get_dynamic_array(buf), __get_dynamic_array_len(buf))",
	  "3 [0xde 0xad 0x01]", "l=3 [de-ad-01] de ad 01 dead01" },
	{ "an array", "__data_loc u16[] w:8:4:0;u32 b[2]:12:8:0",
	  "\"%s %s %u\", __print_array(__get_dynamic_array(w), __get_dynamic_array_len(w) / 2, 2), "
	  "__print_array(REC->b, 2, 4), "
	  "((u16 *)__get_dynamic_array(w))[1]",
	  "[1 65535 3] [5 4000000000]", "1 65535 3 5 4000000000 65535" },
	{ "osnoise sample", "u64 runtime:8:8:0;u64 start:16:8:0",
	  "\"start %llu.%09llu duration %llu ns\", __print_ns_to_secs(REC->start), "
	  "__print_ns_without_secs(REC->start), REC->runtime",
	  "77 5000000012", "start 5.000000012 duration 77 ns" },
	{ "net protocol", "u16 protocol:8:2:0;u16 vlan:10:2:0",
	  "\"protocol=0x%04x %u\", ((__u16)(__builtin_constant_p((__u16)(REC->protocol)) ? 1 : "
	  "__fswab16(REC->protocol))), "
	  "sizeof(REC->protocol) + sizeof(u64)",
	  "0x0008 0", "protocol=0x0800 10" },
	{ "an enumeration without values", "int state:8:4:1",
	  "\"%s %d %s\", __print_symbolic(REC->state, { STATE_ONE, \"one\" }, { 2, \"two\" }), "
	  "STATE_MAX, STATE_MAX",
	  "7", "0x7 STATE_MAX STATE_MAX" },
	{ "a call of the kernel", "unsigned long timeout:8:8:0;int n:16:4:1",
	  "\"timeout %u ms, n %d\", jiffies_to_msecs(REC->timeout), REC->n", "250 9",
	  "timeout jiffies_to_msecs(REC->timeout) ms, n 9" },
	{ "a relative string", "__rel_loc char[] s:8:4:1",
	  "\"<%10s|%-10s|%.2s>\", __get_rel_str(s), __get_rel_str(s), __get_rel_str(s)", "'hello'",
	  "<     hello|hello     |he>" },
	{ "widths", "int a:8:4:1;char s[8]:12:8:0",
	  "\"%5d|%-5d|%05d|%.3d|%+d|% d|%x|%#x|%#o|%X|%c|%*d|%.*s|%hhd|%5.2s|%%\", REC->a, REC->a, "
	  "REC->a, REC->a, "
	  "REC->a, REC->a, REC->a, "
	  "REC->a, REC->a, REC->a, REC->a, 6, REC->a, 2, REC->s, 0x1ff, REC->s",
	  "77 'abcdef'", "   77|77   |00077|077|+77| 77|4d|0x4d|0115|4D|M|    77|ab|-1|   ab|%" },
	{ "C's arithmetic", "int a:8:4:1;u32 u:12:4:0;s64 l:16:8:1;u8 b:24:1:0",
	  "\"%d %d %d %d %lld %lld %u %d %d %d %d %x\", REC->a < 0, REC->a / 2, REC->a % 4, REC->a "
	  ">> 1, REC->l * "
	  "2, REC->l - REC->a, "
	  "REC->u + 1, !REC->b, REC->b && REC->a, REC->a == -7 ? 1 : 2, (s8)REC->b, ~REC->b & 0xff",
	  "-7 4294967295 -5000000000 200", "1 -3 -3 -4 -10000000000 -4999999993 0 0 1 1 -56 37" },
	{ "a uuid", "char id[16]:8:16:0",
	  "\"%pU %pUB %pUl %pUL\", REC->id, REC->id, REC->id, REC->id",
	  "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 0xff]",
	  "00010203-0405-0607-0809-0a0b0c0d0eff 00010203-0405-0607-0809-0A0B0C0D0EFF "
	  "03020100-0504-0706-0809-0a0b0c0d0eff "
	  "03020100-0504-0706-0809-0A0B0C0D0EFF" },
	{ "a text whose address was recorded", "const char * rcuname:8:8:0",
	  "\"%s\\t%s\\n\", REC->rcuname, \"a\" \"b\"", "0xffffffff82", "ffffffff82\tab\n" },
	{ "division by nothing", "int a:8:4:1", "\"%d %d\", REC->a / (REC->a - 5), REC->a", "5",
	  "REC->a / (REC->a - 5) 5" },
};

/* ---- records */

struct tracefmt_made {
	char format[1 << 15];
	uint8_t rec[1024];
	uint32_t len;
};

static inline void case_put(uint8_t *p, uint64_t v, unsigned size, bool big)
{
	for (unsigned i = 0; i < size; i++)
		p[big ? size - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

/* One value from `v` to `to`; `elem` bytes an element. Returns the bytes written. */
static inline unsigned case_value(const char **v, uint8_t *to, unsigned size, unsigned elem,
				  bool big)
{
	unsigned n = 0;
	char *end;

	while (**v == ' ')
		(*v)++;
	if (**v == '\'') {
		for ((*v)++; **v != '\''; (*v)++)
			to[n++] = (uint8_t) * *v;
		(*v)++;
		to[n] = 0;
		return n + 1;
	}
	if (**v == '[' || **v == '<') {
		const unsigned each = **v == '<' ? 8 : elem;

		for ((*v)++; **v != ']' && **v != '>'; n += each) {
			case_put(to + n, strtoull(*v, &end, 0), each, big);
			*v = end;
		}
		(*v)++;
		return n;
	}
	case_put(to, **v == '-' ? (uint64_t)strtoll(*v, &end, 0) : strtoull(*v, &end, 0), size,
		 big);
	*v = end;
	return size;
}

/* The size of an array's element by its type, as far as the cases use them. */
static inline unsigned case_elem(const char *type)
{
	return strstr(type, "u16") ? 2 : strstr(type, "u32") ? 4 : strstr(type, "long") ? 8 : 1;
}

static inline void case_make(const struct tracefmt_case *c, bool big, struct tracefmt_made *m)
{
	const char *p = c->fields, *v = c->values;
	unsigned end = 8, off, size, is_signed;
	char decl[100];
	int n, at;

	memset(m, 0, sizeof(*m));
	at = snprintf(m->format, sizeof(m->format),
		      "name: test\nID: 7\nformat:\n\tfield:unsigned short "
		      "common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	case_put(m->rec, 7, 2, big);
	case_put(m->rec + 4, 4711, 4, big);
	for (; sscanf(p, "%99[^:]:%u:%u:%u%n", decl, &off, &size, &is_signed, &n) == 4;
	     p += n + (p[n] == ';')) {
		at += snprintf(m->format + at, sizeof(m->format) - (size_t)at,
			       "\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:%u;\n", decl, off, size,
			       is_signed);
		end = off + size > end ? off + size : end;
		if (!p[n])
			break;
	}
	snprintf(m->format + at, sizeof(m->format) - (size_t)at, "\nprint fmt: %s\n", c->print);
	end = (end + 7) & ~7u;
	for (p = c->fields; sscanf(p, "%99[^:]:%u:%u:%u%n", decl, &off, &size, &is_signed, &n) == 4;
	     p += n + 1) {
		if (strstr(decl, "_loc ")) {
			unsigned bytes = case_value(&v, m->rec + end, 8, case_elem(decl), big);
			unsigned from = strstr(decl, "__rel_loc") ? off + 4 : 0;

			case_put(m->rec + off, bytes << 16 | (end - from), 4, big);
			end = (end + bytes + 7) & ~7u;
		} else {
			case_value(&v, m->rec + off, size, case_elem(decl), big);
		}
		if (!p[n])
			break;
	}
	m->len = end;
}

#endif
