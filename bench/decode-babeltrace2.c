/*
 * Decodes a CTF trace in full by libbabeltrace2: the counterpart of decode.c, which says what is
 * printed. Fields of events are walked: the common and the specific context, and the payload.
 *
 *	decode-babeltrace2 DIR
 */
#include <babeltrace2/babeltrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct sums {
	unsigned long long events, values;
	uint64_t sum;
};

static void field_add(struct sums *s, const bt_field *f)
{
	const bt_field_class_type type = bt_field_get_class_type(f);
	double real;
	uint64_t bits;

	if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
		const uint64_t n = bt_field_class_structure_get_member_count(
			bt_field_borrow_class_const(f));

		for (uint64_t i = 0; i < n; i++)
			field_add(s, bt_field_structure_borrow_member_field_by_index_const(f, i));
		return;
	}
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
		for (uint64_t i = 0; i < bt_field_array_get_length(f); i++)
			field_add(s, bt_field_array_borrow_element_field_by_index_const(f, i));
		return;
	}
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
		field_add(s, bt_field_variant_borrow_selected_option_field_const(f));
		return;
	}
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION)) {
		if ((f = bt_field_option_borrow_field_const(f)) != NULL)
			field_add(s, f);
		return;
	}
	s->values++;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
		s->sum += bt_field_integer_unsigned_get_value(f);
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
		s->sum += (uint64_t)bt_field_integer_signed_get_value(f);
	} else if (type == BT_FIELD_CLASS_TYPE_STRING) {
		s->sum += bt_field_string_get_length(f);
	} else if (type == BT_FIELD_CLASS_TYPE_BOOL) {
		s->sum += bt_field_bool_get_value(f) ? 1 : 0;
	} else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
		s->sum += bt_field_bit_array_get_value_as_integer(f);
	} else {
		real = type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL
			       ? (double)bt_field_real_single_precision_get_value(f)
			       : bt_field_real_double_precision_get_value(f);
		memcpy(&bits, &real, sizeof(bits));
		s->sum += bits;
	}
}

static void event_add(struct sums *s, const bt_event *ev)
{
	const bt_field *const parts[] = {
		bt_event_borrow_common_context_field_const(ev),
		bt_event_borrow_specific_context_field_const(ev),
		bt_event_borrow_payload_field_const(ev),
	};

	s->events++;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i])
			field_add(s, parts[i]);
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *it,
								  void *data)
{
	bt_message_array_const messages;
	bt_message_iterator_next_status st;
	uint64_t n;

	st = bt_message_iterator_next(it, &messages, &n);
	if (st != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)st;
	for (uint64_t i = 0; i < n; i++) {
		if (bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_EVENT)
			event_add(data, bt_message_event_borrow_event_const(messages[i]));
		bt_message_put_ref(messages[i]);
	}
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static const bt_plugin *plugin(const char *name)
{
	const bt_plugin *p = NULL;

	bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &p);
	return p;
}

/* Source, muxer and sink, as the program babeltrace2 connects them. Returns false if it cannot. */
static bool graph_connect(bt_graph *g, const char *dir, struct sums *s)
{
	const bt_plugin *const ctf = plugin("ctf"), *const utils = plugin("utils");
	const bt_component_source *src;
	const bt_component_filter *mux;
	const bt_component_sink *sink;
	bt_value *params = bt_value_map_create(), *inputs;

	if (!ctf || !utils || !params ||
	    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ||
	    bt_value_array_append_string_element(inputs, dir) ||
	    bt_graph_add_source_component(
		    g, bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs"), "source",
		    params, BT_LOGGING_LEVEL_NONE, &src) ||
	    bt_graph_add_filter_component(
		    g, bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer"),
		    "muxer", NULL, BT_LOGGING_LEVEL_NONE, &mux) ||
	    bt_graph_add_simple_sink_component(g, "sums", NULL, consume, NULL, s, &sink))
		return false;
	/* The muxer has always one input more than are connected. */
	for (uint64_t i = 0; i < bt_component_source_get_output_port_count(src); i++)
		if (bt_graph_connect_ports(
			    g, bt_component_source_borrow_output_port_by_index_const(src, i),
			    bt_component_filter_borrow_input_port_by_index_const(mux, i), NULL))
			return false;
	return !bt_graph_connect_ports(
		g, bt_component_filter_borrow_output_port_by_index_const(mux, 0),
		bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL);
}

int main(int argc, char **argv)
{
	bt_graph *g;
	struct sums s = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: decode-babeltrace2 DIR\n");
		return 2;
	}
	g = bt_graph_create(0);
	if (!g || !graph_connect(g, argv[1], &s) || bt_graph_run(g) != BT_GRAPH_RUN_STATUS_OK) {
		fprintf(stderr, "decode-babeltrace2: %s: cannot be read\n", argv[1]);
		return 4;
	}
	printf("%llu events, %llu values, sum %016llx\n", s.events, s.values,
	       (unsigned long long)s.sum);
	return 0;
}
